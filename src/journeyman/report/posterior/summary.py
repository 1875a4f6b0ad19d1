"""What a posterior says about a world whose truth is known: in numbers, as plain data, and in the terminal."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.text import Text

from journeyman.demonstrations import Demonstration
from journeyman.inference import Posterior
from journeyman.mdp import FiniteMDP, evaluate_policy
from journeyman.report.drawing.marks import has_row_numbering
from journeyman.report.drawing.terminal_grid import END_WORDS, NUMBERS_WORDS, Sheet, fitting_sheet
from journeyman.report.posterior.knowledge import LEVEL, ParameterKnowledge, parameter_knowledge
from journeyman.report.terminal import definitions, print_warnings, text_table
from journeyman.report.world.summary import per_state, without_nonfinite
from journeyman.types import BoolArray
from journeyman.wording import counted, listed, nats, percent, plain_number, signed_number
from journeyman.worlds import World

MAX_TABLE_PARAMETERS = 16
MAX_LISTED_STATES = 6


@dataclass(frozen=True, eq=False)
class PosteriorSummary:
    """A posterior beside the truth.

    knowledge
        What is known about each parameter, with central 95 % intervals.
    policy_return, optimal_return, expert_return
        True expected discounted reward from the initial states: of the policy that is best for the mean reward, of an
        optimal one, and of the expert.
    """

    world: World
    demonstrations: tuple[Demonstration, ...]
    posterior: Posterior
    knowledge: ParameterKnowledge
    policy_return: float
    optimal_return: float
    expert_return: float

    @property
    def mdp(self) -> FiniteMDP:
        """The dynamics."""
        return self.world.problem.mdp

    @property
    def is_inside(self) -> BoolArray:
        """`[D]` whether the true parameter lies in its interval; an atom is as true as its bound, but for rounding."""
        truth, (low, high) = self.world.true_parameters, self.knowledge.intervals.T
        slack = 1e-9 * (1.0 + np.abs(truth))
        return np.asarray((low - slack <= truth) & (truth <= high + slack))

    @property
    def coverage(self) -> float:
        """Share of the 95 % intervals that hold the truth."""
        return float(self.is_inside.mean())

    @property
    def spread(self) -> float:
        """Average over parameters of posterior over prior standard deviation; below 1 where something was learned."""
        is_open = self.knowledge.prior_std > 0
        return float(self.knowledge.remaining[is_open].mean()) if is_open.any() else 1.0


def summarise_posterior(
    world: World, demonstrations: tuple[Demonstration, ...], posterior: Posterior
) -> PosteriorSummary:
    """Compare a posterior with the true reward of its world."""
    mdp, expert = world.problem.mdp, world.expert
    policy = posterior.mean_solution.policy
    return PosteriorSummary(
        world=world,
        demonstrations=demonstrations,
        posterior=posterior,
        knowledge=parameter_knowledge(posterior),
        policy_return=float(mdp.initial @ evaluate_policy(mdp, policy, world.reward)),
        optimal_return=float(mdp.initial @ expert.values),
        expert_return=float(mdp.initial @ evaluate_policy(mdp, expert.policy, world.reward)),
    )


def posterior_record(summary: PosteriorSummary) -> dict[str, Any]:
    """Return the summary as plain data for JSON; infinite and undefined numbers become None."""
    world, posterior, model = summary.world, summary.posterior, summary.world.problem.reward_model
    known, is_inside = summary.knowledge, summary.is_inside
    diagnostics = {name: value for name, value in asdict(posterior.diagnostics).items() if value is not None}
    warnings = diagnostics.pop("warnings")
    parameters = {
        model.parameter_name(i): {
            "mean": float(known.mean[i]),
            "std": float(known.std[i]),
            "interval": known.intervals[i].tolist(),
            "truth": float(world.true_parameters[i]),
            "is_inside": bool(is_inside[i]),
        }
        for i in range(model.num_parameters)
    }
    record = {
        "world": world.name,
        "seed": world.seed,
        "method": posterior.method,
        "num_samples": posterior.num_samples,
        "demonstrations": [
            {"start_state": item.start_state, "steps": [list(step) for step in item.steps], "ended": item.ended}
            for item in summary.demonstrations
        ],
        "parameters": parameters,
        "expert": {
            name: {"mean": mean, "low": low, "high": high, "truth": float(truth)}
            for (name, (mean, low, high)), truth in zip(
                posterior.expert_knowledge(LEVEL).items(), summary.world.expert_parameters, strict=True
            )
        },
        "mean_reward": posterior.mean_reward().tolist(),
        "reward_std": posterior.reward_std().tolist(),
        "level": LEVEL,
        "coverage": summary.coverage,
        "spread": summary.spread,
        "policy_return": summary.policy_return,
        "optimal_return": summary.optimal_return,
        "expert_return": summary.expert_return,
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "diagnostics": diagnostics,
        "warnings": list(warnings),
    }
    plain: dict[str, Any] = without_nonfinite(record)
    return plain


def print_posterior(console: Console, summary: PosteriorSummary) -> None:
    """Print what was asked, what is known about the reward now, and what is doubtful about it."""
    world, posterior = summary.world, summary.posterior
    title = Text.assemble(
        (world.name, "bold"), f", seed {world.seed}: reward after {_asked(summary)}, by ", (posterior.method, "bold")
    )
    console.print(Group(title, ""))
    sheet = fitting_sheet(console, summary.mdp)
    has_cells = sheet is not None and not sheet.is_small
    if sheet is not None and has_cells:
        console.print(_drawing(sheet, summary), "")
        console.print(definitions(_legend(sheet, summary)), "")
    if not has_cells or world.problem.reward_model.kind == "features":
        console.print(parameter_table(summary), "")
    console.print(definitions(_facts(summary)))
    print_warnings(console, posterior.warnings)


def _asked(summary: PosteriorSummary) -> str:
    """Return how many answers there were: "20 annotations", "5 trajectories with 31 actions"."""
    items = summary.demonstrations
    if all(item.ended == "annotation" for item in items):
        return counted(len(items), "annotation")
    num_actions = sum(len(item) for item in items)
    return f"{len(items)} {'trajectory' if len(items) == 1 else 'trajectories'} with {counted(num_actions, 'action')}"


def _drawing(sheet: Sheet, summary: PosteriorSummary) -> RenderableType:
    """Return the grid: mean, standard deviation and demonstrated actions in every cell, coloured by the mean."""
    posterior, mdp, width = summary.posterior, summary.mdp, sheet.cell_width
    means, stds = per_state(mdp, posterior.mean_reward()), per_state(mdp, posterior.reward_std())
    texts = []
    for state, (mean, std) in enumerate(zip(means.tolist(), stds.tolist(), strict=True)):
        spread = f"{sheet.glyphs.plus_minus}{signed_number(std).lstrip('+')}"
        seen = np.flatnonzero(posterior.counts[state]).tolist()
        done = sheet.actions_text(seen) if seen or not mdp.terminal[state] else "end"
        texts.append([line.center(width) for line in (signed_number(mean), spread, done[:width])])
    return sheet.drawing(texts, means, float(np.abs(means).max()))


def _legend(sheet: Sheet, summary: PosteriorSummary) -> dict[str, str]:
    """Return what stands in the cells."""
    by_action = "" if summary.world.problem.reward_model.is_state_only else ", averaged over actions"
    rows = {"+ -": f"posterior mean of the reward{by_action}{sheet.colours}"}
    rows[sheet.glyphs.plus_minus] = "posterior standard deviation"
    if summary.posterior.counts.any():
        word = "names" if sheet.grid.moves is None else "arrows"
        rows[word] = "what the expert was seen to do there; nothing: it was not seen there"
    if sheet.mdp.terminal.any():
        rows["end"] = END_WORDS
    if has_row_numbering(sheet.mdp):
        rows["numbers"] = NUMBERS_WORDS
    return rows


def parameter_table(summary: PosteriorSummary) -> RenderableType:
    """Return mean, standard deviation, interval and truth of the parameters, least known first if there are many."""
    model, truth = summary.world.problem.reward_model, summary.world.true_parameters
    known, is_inside = summary.knowledge, summary.is_inside
    table = text_table(("parameter", "mean", "sd", "95 % interval", "truth", "inside"), numeric=range(1, 5))
    order = np.arange(model.num_parameters)
    is_cut = model.num_parameters > MAX_TABLE_PARAMETERS
    if is_cut:
        order = np.argsort(-known.std, kind="stable")[:MAX_TABLE_PARAMETERS]
    for i in order.tolist():
        low, high = known.intervals[i]
        table.add_row(
            Text(known.names[i]),
            f"{known.mean[i]:.2f}",
            f"{known.std[i]:.2f}",
            f"{low:.2f} to {high:.2f}",
            f"{truth[i]:.2f}",
            "yes" if is_inside[i] else "no",
        )
    if not is_cut:
        return table
    rest = model.num_parameters - MAX_TABLE_PARAMETERS
    return Group(table, Text(f"These are the least known; {rest} more: --json lists them all.", style="dim"))


def _facts(summary: PosteriorSummary) -> dict[str, str]:
    """Return what was asked, how sure the posterior is, and how right, in words."""
    posterior = summary.posterior
    num_inside, num_parameters = int(summary.is_inside.sum()), len(summary.is_inside)
    rows = {"asked": _where(summary)} if summary.demonstrations else {}
    rows["sampling"] = sampling_words(posterior)
    rows["uncertainty"] = f"standard deviations are {percent(summary.spread)} of the prior's on average"
    rows["truth"] = (
        f"{num_inside} of {num_parameters} true parameters lie in their 95 % intervals ({percent(summary.coverage)})"
    )
    for (name, (mean, low, high)), own in zip(
        posterior.expert_knowledge(LEVEL).items(), summary.world.expert_parameters, strict=True
    ):
        rows[name] = f"{mean:.3g}, with a chance of 95 % between {low:.3g} and {high:.3g}; in truth {own:.3g}"
    rows["policy"] = (
        f"the best one for the mean reward truly gets {plain_number(summary.policy_return)} from the initial states; "
        f"an optimal one gets {plain_number(summary.optimal_return)}, the expert {plain_number(summary.expert_return)}"
    )
    if posterior.log_evidence is not None:
        words = nats(posterior.log_evidence, posterior.log_evidence_error)
        rows["log evidence"] = f"{words}: log chance of these answers before any was seen"
    return rows


def _where(summary: PosteriorSummary) -> str:
    """Return which states were asked about, the most often asked ones by name."""
    states, times = np.unique([item.start_state for item in summary.demonstrations], return_counts=True)
    order = np.argsort(-times, kind="stable")[:MAX_LISTED_STATES]
    names = [
        summary.mdp.state_name(int(states[i])) + (f" ({times[i]} times)" if times[i] > 1 else "")
        for i in order.tolist()
    ]
    num_states = int(summary.world.problem.queryable.sum())
    if len(states) > MAX_LISTED_STATES:
        return f"at {len(states)} of {num_states} states, most often {listed(names)}"
    return f"at {'state' if len(names) == 1 else 'states'} {listed(names)}, of {num_states} that can be asked about"


def sampling_words(posterior: Posterior) -> str:
    """Return what the method knows about its own samples."""
    return ", ".join(_diagnostics(posterior))


def _diagnostics(posterior: Posterior) -> Iterator[str]:
    d = posterior.diagnostics
    yield counted(posterior.num_samples, "sample")
    if d.particle_ess is not None:
        yield f"{d.particle_ess:.0f} effective"
    if d.ess_bulk is not None and d.ess_tail is not None:
        yield f"at least {min(d.ess_bulk, d.ess_tail):.0f} effective"
    if d.r_hat is not None:
        yield f"R-hat {d.r_hat:.3f}"
    if d.num_divergences:
        yield f"{d.num_divergences} diverged"
    if d.acceptance is not None:
        yield f"{percent(d.acceptance)} of moves accepted"
    if d.error_bound is not None:
        yield f"error below {d.error_bound:.2g}"
    if d.is_converged is not None and d.objective is not None:
        yield f"{'converged' if d.is_converged else 'not converged'} after {counted(len(d.objective) - 1, 'iteration')}"
    yield f"{d.seconds:.1f} s"
