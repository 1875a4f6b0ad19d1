"""Pictures of a learner (extra `plot`): how the belief changed, what is known, where to ask, and what to do."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from journeyman.apprentice.epsilon import epsilon_words, regret_words
from journeyman.criticism import ALARM, Criticism
from journeyman.extras import require
from journeyman.mdp.layouts import drawing_kind
from journeyman.once import once_for_each
from journeyman.report.drawing.cells import add_legend, hide_unknown, make_panels, new_figure, plain
from journeyman.report.drawing.maps import state_map
from journeyman.report.drawing.palette import BLUE, COLOURS, GREEN, PALE_GREY, VERMILLION
from journeyman.report.learning.summary import BeliefSummary
from journeyman.report.posterior.knowledge import ParameterKnowledge
from journeyman.report.scores import function_name, titled_score_figure
from journeyman.types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D")
PRIOR, POSTERIOR, TRUTH = PALE_GREY, BLUE, VERMILLION
MAX_PARAMETERS = 24
EVIDENCE_RANGE = (-46.0, 230.0)  # logs that are drawn: 10^-20 to 10^100
SMALLEST = 1e-4  # regrets below it are drawn here: a logarithm has no place for 0


class ReportFigure(NamedTuple):
    """A figure of the report: what it shows, in a few words, and how it is drawn; None where there is nothing yet.

    Where `needs_check`, it shows what speaks against the model, and takes a whole summary; else the belief is enough.
    """

    what: str
    draw_fn: "Callable[[Any], Figure | None]"
    needs_check: bool = False


def progress_figure(summaries: Mapping[str, BeliefSummary]) -> "Figure":
    """Return how beliefs changed, a line per learner: chance of too much regret, regret, and entropy if it is known."""
    first = next(iter(summaries.values())).settings
    epsilon, delta = first.epsilon, first.delta
    has_entropy = any(step.entropy is not None for summary in summaries.values() for step in summary.course)
    has_truth = any(summary.true_regrets for summary in summaries.values())
    figure = new_figure(4.2 * (3 if has_entropy else 2), 3.6)
    axes = figure.subplots(1, 3 if has_entropy else 2)
    for index, (name, summary) in enumerate(summaries.items()):
        course = summary.course
        style: dict[str, Any] = {"color": COLOURS[index % 4], "marker": MARKERS[index % 4], "markersize": 4}
        _line(axes[0], [step.failure_chance for step in course], label=plain(name), **style)
        _line(axes[1], [_floored(step.expected_regret) for step in course], **style)
        hollow = style | {"linestyle": ":", "markerfacecolor": "white"}
        _line(axes[1], [_floored(regret) for regret in summary.true_regrets], **hollow)
        if has_entropy:
            _line(axes[2], [step.entropy for step in course], **style)
    axes[0].axhline(delta, color="0.4", linewidth=1, linestyle="--")
    axes[0].annotate("delta", (1.0, delta), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes[0].set_ylim(-0.03, 1.03)
    axes[0].set_title(f"chance of a regret of {epsilon_words(epsilon)} or more", fontsize=10)
    if not axes[1].lines:  # steps that were replayed without their numbers
        axes[1].set_ylim(0.1 * epsilon, 10.0 * epsilon)
    axes[1].set_yscale("log")
    axes[1].yaxis.set_major_formatter(lambda value, _: regret_words(value, epsilon))
    axes[1].yaxis.set_minor_formatter(require("matplotlib.ticker", "plot").NullFormatter())
    axes[1].axhline(epsilon, color="0.4", linewidth=1, linestyle="--")
    axes[1].annotate("epsilon", (1.0, epsilon), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=8)
    axes[1].set_title("regret: expected, and true (dotted)" if has_truth else "expected regret", fontsize=10)
    if has_entropy:
        axes[2].set_title("entropy of the belief (nats)", fontsize=10)
    for ax in axes:
        ax.set_xlabel("step")
        ax.xaxis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(integer=True))
        ax.grid(alpha=0.25)
    if len(summaries) > 1:
        figure.legend(loc="outside lower center", ncols=len(summaries), fontsize=9, frameon=False)
    return figure


def _line(ax: "Axes", values: Sequence[float | None], **style: Any) -> None:
    """Draw values over steps: answers may be taken back, so their number may go down."""
    known = [(step, value) for step, value in enumerate(values) if value is not None]
    if known:
        ax.plot(*zip(*known, strict=True), linewidth=1.5, **style)


def _floored(value: float | None) -> float | None:
    return None if value is None else max(value, SMALLEST)


def evidence_figure(criticism: Criticism) -> "Figure":
    """Return the evidence against the model over the answers, with what makes it doubtful."""
    figure = new_figure(7.5, 3.2)
    ax = figure.subplots()
    gains = [gain for _, gain in criticism.changes]
    shown = np.clip([criticism.log_evidence, *criticism.curve, *gains], *EVIDENCE_RANGE) / np.log(10.0)
    num_times = len(criticism.times)
    ax.plot(criticism.times, shown[1 : num_times + 1], color=BLUE, linewidth=1.5)
    if gains:
        ax.plot([point for point, _ in criticism.changes], shown[num_times + 1 :], "+", color=GREEN, markersize=5)
    ax.plot([criticism.num_answers], shown[:1], MARKERS[0], color=VERMILLION if criticism.is_surprising else BLUE)
    alarm = np.log10(ALARM)
    ax.axhline(alarm, color="0.4", linewidth=1, linestyle="--")
    ax.annotate("doubtful", (0.01, alarm), xycoords=("axes fraction", "data"), ha="left", va="bottom", fontsize=8)
    ax.set_ylim(min(shown.min(), -0.5) - 0.2, max(shown.max(), alarm) + 0.5)
    ax.set_xlabel("answers")
    ax.set_title("evidence against the model (powers of 10)", fontsize=10)
    ax.xaxis.set_major_locator(require("matplotlib.ticker", "plot").MaxNLocator(integer=True))
    ax.grid(alpha=0.25)
    return figure


def parameter_figure(knowledge: ParameterKnowledge, truth: FloatArray | None = None) -> "Figure":
    """Return the interval of each parameter before (grey) and after (blue), least learned last where there are many."""
    order = np.argsort(knowledge.remaining, kind="stable")[:MAX_PARAMETERS]
    if len(knowledge.names) <= MAX_PARAMETERS:
        order = np.sort(order)
    figure = new_figure(7.5, 0.9 + 0.3 * max(len(order), 2))
    ax = figure.subplots()
    heights = np.arange(len(order))[::-1]
    low, high = knowledge.prior_intervals[order].T
    share = f"{100 * knowledge.level:.0f} %"
    ax.barh(heights, high - low, 0.62, low, color=PRIOR, label=f"before: {share} interval")
    low, high = knowledge.intervals[order].T
    label = f"now: {share} interval and mean"
    ax.hlines(heights, low, high, color=POSTERIOR, linewidth=4, label=label)
    ax.plot(knowledge.mean[order], heights, "o", color="white", markeredgecolor=POSTERIOR, markersize=6)
    if truth is not None:
        ax.plot(truth[order], heights, "|", color=TRUTH, markersize=14, markeredgewidth=2.5, label="truth")
    ax.set_yticks(heights, [plain(knowledge.names[i]) for i in order.tolist()], fontsize=8)
    ax.use_sticky_edges = False  # a bar's end is not the end of the picture
    ax.autoscale_view()
    ax.set_ylim(-0.7, len(order) - 0.3)
    ax.set_xlabel("parameter of the reward")
    ax.grid(axis="x", alpha=0.25)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


@once_for_each
def reward_figure(summary: BeliefSummary) -> "Figure":
    """Return the posterior mean of the reward, per state."""
    mdp = summary.problem.mdp
    figure, (ax,) = make_panels(mdp)
    state_map(ax, mdp, summary.posterior.mean_reward(), label="posterior mean of the reward")
    ax.set_title("What the reward may be: posterior mean", loc="left", fontsize=11)
    add_legend(figure, mdp, None)
    return figure


@once_for_each
def uncertainty_figure(summary: BeliefSummary) -> "Figure":
    """Return the posterior standard deviation of the reward, per state."""
    mdp = summary.problem.mdp
    figure, (ax,) = make_panels(mdp)
    label = "posterior standard deviation of the reward"
    state_map(ax, mdp, summary.posterior.reward_std(), label=label, is_diverging=False)
    ax.set_title("How uncertain the reward is: posterior standard deviation", loc="left", fontsize=11)
    add_legend(figure, mdp, None)
    return figure


@once_for_each
def score_map_figure(summary: BeliefSummary) -> "Figure | None":
    """Return what the next question would be worth in each state; None if nothing may be asked."""
    scores = summary.scores
    if scores is None:
        return None
    asked = np.unique([item.query.state for item in summary.asked]).astype(np.int64)
    title = f"{function_name(scores)}: the next question"
    return titled_score_figure(summary.problem.mdp, scores, asked, scores.best_state(), title, pad=20)


@once_for_each
def apprentice_figure(summary: BeliefSummary) -> "Figure":
    """Return the apprentice's actions over the chance that they are optimal."""
    mdp, certainty = summary.problem.mdp, summary.certainty
    figure, (ax,) = make_panels(mdp)
    chances = np.full(mdp.num_states, np.nan)
    chances[certainty.states] = certainty.chances
    chosen = np.zeros((mdp.num_states, mdp.num_actions), dtype=bool)
    chosen[np.arange(mdp.num_states), summary.apprentice] = True
    label = "chance that the action is optimal"
    state_map(ax, mdp, chances, label=label, is_diverging=False, limit=1.0, optimal=chosen, certainty=chances)
    hide_unknown(ax)  # nobody chooses there
    ax.set_title("The apprentice's actions", loc="left", fontsize=11)
    if drawing_kind(mdp) == "bars":
        ax.set_ylim(0.0, 1.05)
    else:
        add_legend(figure, mdp, chosen, arrow="apprentice's action", stay="apprentice stays")
    return figure


FIGURES = {
    "policy": ReportFigure("what the apprentice does, and the chance that this is optimal", apprentice_figure),
    "reward": ReportFigure("the reward of each state: posterior mean", reward_figure),
    "uncertainty": ReportFigure("how uncertain it is: posterior standard deviation", uncertainty_figure),
    "parameters": ReportFigure(
        "intervals of the parameters before and after the answers",
        lambda summary: parameter_figure(summary.parameters),
    ),
    "scores": ReportFigure("what the next question would be worth in each state", score_map_figure),
    "progress": ReportFigure(
        "how the belief changed with every answer",
        lambda summary: progress_figure({summary.settings.acquisition: summary}),
    ),
    "evidence": ReportFigure(
        "evidence against the model over the answers",
        lambda summary: evidence_figure(summary.criticism) if summary.criticism.num_answers else None,
        needs_check=True,
    ),
}
