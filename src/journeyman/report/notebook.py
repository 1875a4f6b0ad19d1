"""What notebooks show: posteriors, certificates, scores, MDPs and learners as small HTML, with a map where one fits.

Showing an object computes nothing that takes long: no inference, no certificate. What a learner has not computed yet is
said to be missing. All that is not in the object already is a mean or a standard deviation over samples, and only
where these are few. Without matplotlib (extra `plot`) tables say the same.
"""

from collections.abc import Callable
from functools import singledispatch
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from journeyman.acquisition import Scores
from journeyman.apprentice import Certificate
from journeyman.apprentice.certificate_text import caution_sentences, claim_sentence, headline, number_sentences
from journeyman.apprentice.epsilon import epsilon_words
from journeyman.errors import InputError, MissingExtraError
from journeyman.inference import Posterior
from journeyman.learner import ActiveLearner, Query
from journeyman.mdp import FiniteMDP
from journeyman.mdp.layouts import drawing_kind
from journeyman.problem import parameter_label
from journeyman.report.drawing.cells import LEAST_FONT, add_legend, colour_scale, draw_cells, hide_unknown, make_panels
from journeyman.report.drawing.graphs import draw_nodes
from journeyman.report.drawing.maps import posterior_map
from journeyman.report.drawing.marks import describe_initial
from journeyman.report.html import (
    Markup,
    bullets,
    data_address,
    definitions,
    details,
    element,
    join,
    paragraph,
    table,
)
from journeyman.report.posterior.summary import sampling_words
from journeyman.report.scores import function_name, scaled_scores, score_label, titled_score_figure
from journeyman.types import IntArray
from journeyman.wording import about_chance, chance_words, counted, percent, plain_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = "\n" + (files("journeyman.report.html") / "notebook.css").read_text("utf-8")
MAX_DRAWN_STATES = 2000  # a map of more has no room in a notebook
MAX_LAID_OUT_STATES = 200  # of a graph whose places have to be found first
MAX_ENTRIES = 4_000_000  # numbers of samples that are gone through for a table or a map
NUM_ROWS = 8
LEVEL = 0.95


def html_of(thing: object) -> str:
    """Return an object as HTML that needs no script, no other file and no network."""
    return element("div", element("style", Markup(STYLE)), _content(thing), class_="journeyman-shown")


@singledispatch
def _content(thing: object) -> Markup:
    raise InputError(f"a notebook can show no {type(thing).__name__} of journeyman. Print it instead.")


@_content.register
def _(posterior: Posterior) -> Markup:
    problem, mdp = posterior.problem, posterior.problem.mdp
    num_actions = int(posterior.counts.sum())
    title = f"Posterior by {posterior.method}, after {counted(num_actions, 'demonstrated action')}"
    caption = "Mean and standard deviation of the reward."
    is_drawn = _is_drawn(mdp) and posterior.num_samples * problem.reward_model.offset.size <= MAX_ENTRIES

    def figure() -> "Figure":
        return posterior_map(problem, posterior.mean_reward(), posterior.reward_std(), "", is_small=True)

    return join(
        paragraph(title, class_="title"),
        _map(figure, caption) if is_drawn else "",
        _parameter_table(posterior),
        _expert_table(posterior),
        paragraph(f"Sampling: {sampling_words(posterior)}.", class_="soft"),
        _warnings(posterior.warnings),
    )


def _parameter_table(posterior: Posterior) -> Markup:
    """Return what is known of the parameters: all of them if they are few, else the least known."""
    names = posterior.problem.reward_model
    chosen, which = np.arange(names.num_parameters), ""
    if names.num_parameters > NUM_ROWS:
        is_small = posterior.theta.size <= MAX_ENTRIES
        chosen = np.argsort(-posterior.parameter_std(), kind="stable")[:NUM_ROWS] if is_small else chosen[:NUM_ROWS]
        which = f", the {NUM_ROWS} {'least known' if is_small else 'first'} of {names.num_parameters}"
    theta = posterior.theta[:, chosen]
    mean = posterior.mean(theta)
    std = np.sqrt(posterior.mean((theta - mean) ** 2))
    rows = [
        (parameter_label(posterior.problem, index), f"{mean[i]:.3g}", f"{std[i]:.2g}", f"{low:.3g} to {high:.3g}")
        for i, (index, (low, high)) in enumerate(
            zip(chosen.tolist(), posterior.intervals(theta, LEVEL).tolist(), strict=True)
        )
    ]
    return table(
        ("parameter", "mean", "sd", f"{percent(LEVEL)} interval"),
        rows,
        caption=f"Parameters of the reward{which}.",
        numeric=(1, 2, 3),
    )


def _expert_table(posterior: Posterior) -> Markup:
    """Return what is known of the expert, where something was unknown."""
    known = posterior.expert_knowledge(LEVEL)
    if not known:
        return Markup("")
    rows = [(name, f"{mean:.3g}", f"{low:.3g} to {high:.3g}") for name, (mean, low, high) in known.items()]
    header = ("parameter", "mean", f"{percent(LEVEL)} interval")
    return table(header, rows, caption="Parameters of the expert.", numeric=(1, 2))


@_content.register
def _(certificate: Certificate) -> Markup:
    c = certificate
    rows = [
        ("Epsilon, the regret that is too much", epsilon_words(c.epsilon)),
        ("Delta, the chance of it that is accepted", percent(c.delta, 3)),
        ("Estimated chance", chance_words(c.p_hat, c.delta)),
        (
            f"Upper bound ({percent(c.confidence, 3)} confidence)" if c.effective_size else "Exact",
            chance_words(c.upper_bound, c.delta),
        ),
    ]
    folded = [("Why", c.reasons), ("What would help", c.advice)]
    return join(
        _verdict(c, claim_sentence(c), *caution_sentences(c)),
        table(("", ""), rows, caption="The claim in numbers.", numeric=(1,)),
        *(join(paragraph(name, class_="title"), bullets(items)) for name, items in folded if items),
        details("The numbers in words", bullets(number_sentences(c))),
        details(f"What all of this assumes ({len(c.assumptions)})", bullets(c.assumptions)),
    )


def _verdict(certificate: Certificate, *sentences: str) -> Markup:
    first = paragraph(headline(certificate), class_="title")
    return element("div", first, *map(paragraph, sentences), class_=f"verdict {certificate.status}")


@_content.register
def _(scores: Scores) -> Markup:
    order = np.argsort(-scores.values, kind="stable")[:NUM_ROWS]
    order = order[np.isfinite(scores.values[order])]
    length = "" if scores.length is None else f", trajectories of up to {counted(scores.length, 'step')}"
    title = f"Scores by {function_name(scores)}{length}"
    mdp, drawn = scores.mdp, Markup("")
    if mdp is not None and _is_drawn(mdp) and len(order):
        nowhere = np.zeros(0, dtype=np.int64)
        drawn = _map(
            lambda: titled_score_figure(mdp, scores, nowhere, int(order[0]), "", is_small=True), "Where to ask next."
        )
    return join(paragraph(title, class_="title"), drawn, _score_table(scores, order), _warnings(scores.warnings))


def _score_table(scores: Scores, order: IntArray) -> Markup:
    """Return the best states with their scores."""
    num_rated, scaled = int(np.isfinite(scores.values).sum()), scaled_scores(scores)
    mdp = scores.mdp
    rows = [(str(s) if mdp is None else mdp.state_name(s), plain_number(float(scaled[s]))) for s in order.tolist()]
    caption = f"The best {len(rows)} of {counted(num_rated, 'state')} that can be asked about."
    return table(("state", score_label(scores)), rows, caption=caption, numeric=(1,))


@_content.register
def _(mdp: FiniteMDP) -> Markup:
    num_terminal, num_choices = int(mdp.terminal.sum()), int(mdp.available.sum())
    kind = {"grid": "Cells of the grid.", "graph": "States and likely moves.", "bars": ""}[_drawing_kind(mdp)]
    rows = [
        ("states", f"{mdp.num_states}" + (f", {num_terminal} of them terminal" if num_terminal else "")),
        ("actions", f"{mdp.num_actions}: {_some_names(mdp)}" if mdp.action_labels else f"{mdp.num_actions}"),
        ("discount", plain_number(mdp.discount)),
        ("initial", describe_initial(mdp)),
        ("transitions", f"{len(mdp.rows.probabilities)} entries"),
    ]
    if num_choices < mdp.num_states * mdp.num_actions:
        rows.append(("available", f"{num_choices} of {mdp.num_states * mdp.num_actions} pairs of state and action"))
    drawn = _map(lambda: mdp_figure(mdp), kind) if kind else Markup("")
    return join(paragraph("FiniteMDP", class_="title"), definitions(rows), drawn)


def mdp_figure(mdp: FiniteMDP) -> "Figure":
    """Return a picture of where the states are: a grid or a graph, with terminal and initial ones marked."""
    figure, (ax,) = make_panels(mdp, is_small=True)
    nothing = np.full(mdp.num_states, np.nan)
    scale = colour_scale(nothing, is_diverging=False, limit=1.0)
    if mdp.grid is not None:
        draw_cells(ax, mdp, mdp.grid, nothing, scale, is_signed=False, optimal=None, least_font=LEAST_FONT)
    else:
        draw_nodes(ax, mdp, nothing, scale, is_signed=False, optimal=None, least_font=LEAST_FONT)
    hide_unknown(ax)
    add_legend(figure, mdp, None)
    return figure


def _some_names(mdp: FiniteMDP) -> str:
    names = [mdp.action_name(action) for action in range(min(mdp.num_actions, NUM_ROWS))]
    return ", ".join(names) + (" ..." if mdp.num_actions > NUM_ROWS else "")


@_content.register
def _(learner: ActiveLearner) -> Markup:
    settings, computed = learner.settings, learner.computed()
    certificate: Certificate | None = computed.get("confirmation") or computed.get("certificate")
    scores: Scores | None = computed.get("scores")
    history = computed.get("history", ())
    rows: list[tuple[str, object]] = [
        ("answers", _answer_words(learner)),
        ("asks by", f"{settings.acquisition}, infers by {settings.inference}"),
        ("next question", _next_question(learner, scores)),
    ]
    if history and history[-1].failure_chance is not None and history[-1].expected_regret is not None:
        last = history[-1]
        words = about_chance(last.failure_chance, settings.delta)
        words = f"{last.expected_regret:.3g} on average; the chance of too much is {words}"
        rows.insert(1, ("regret", words))
    if certificate is None:
        said = paragraph("No certificate of what is known now has been computed. Call certificate().")
        verdict = element("div", said, class_="verdict")
    else:
        verdict = _verdict(certificate, claim_sentence(certificate))
    return join(
        paragraph("ActiveLearner", class_="title"),
        verdict,
        definitions(rows),
        _answer_table(learner),
        _warnings(history[-1].warnings if history else ()),
    )


def _answer_words(learner: ActiveLearner) -> str:
    num_actions = sum(map(len, learner.demonstrations))
    words = f"{counted(len(learner.answers), 'demonstration')} with {counted(num_actions, 'action')}"
    return f"{words}; {counted(len(learner.queries), 'question')} asked, {len(learner.pending)} waiting"


def _next_question(learner: ActiveLearner, scores: Scores | None) -> str:
    if learner.pending:
        more = f" (and {len(learner.pending) - 1} more)" if len(learner.pending) > 1 else ""
        return f"{learner.pending[0].text}{more}"
    if scores is None:
        return "not chosen yet: ask() chooses it"
    return f"ask() chooses it; state {learner.problem.mdp.state_name(scores.best_state())} scores best"


def _answer_table(learner: ActiveLearner) -> Markup:
    """Return the last questions that were answered, or wait."""
    mdp, answers = learner.problem.mdp, learner.answers

    def answered(query: Query) -> str:
        if query.id not in answers:
            return learner.status_of(query)
        steps = [mdp.action_name(action) for _, action in answers[query.id].steps[:NUM_ROWS]]
        return ", ".join(steps) + (" ..." if len(answers[query.id]) > NUM_ROWS else "")

    rows = [(str(query.id), mdp.state_name(query.state), answered(query)) for query in learner.queries[-NUM_ROWS:]]
    if not rows:
        return Markup("")
    caption = "Questions." if len(learner.queries) <= NUM_ROWS else f"The last {NUM_ROWS} questions."
    return table(("number", "state", "answer"), rows, caption=caption, numeric=(0,))


def _drawing_kind(mdp: FiniteMDP) -> str:
    """Return how an MDP is drawn in a notebook: "bars" also where a drawing would take long, or has no room."""
    if mdp.num_states > MAX_DRAWN_STATES:
        return "bars"
    if mdp.grid is None and mdp.coordinates is None and mdp.num_states > MAX_LAID_OUT_STATES:
        return "bars"
    return drawing_kind(mdp)


def _is_drawn(mdp: FiniteMDP) -> bool:
    return _drawing_kind(mdp) != "bars"


def _map(figure_fn: "Callable[[], Figure]", caption: str) -> Markup:
    """Return a map with its caption; nothing where matplotlib is not installed, for tables say the same."""
    try:
        figure = figure_fn()
    except MissingExtraError:
        return Markup("")
    return element("figure", element("img", src=data_address(figure), alt=caption), element("figcaption", caption))


def _warnings(warnings: tuple[str, ...]) -> Markup:
    return join(*(paragraph(f"Warning: {warning}", class_="warning") for warning in warnings))
