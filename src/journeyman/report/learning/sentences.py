"""What a report says in sentences: how the learning went, and what cannot be known and why."""

from collections.abc import Iterator, Sequence

import numpy as np

from journeyman.acquisition import ACQUISITIONS
from journeyman.apprentice.certificate_text import caution_sentences, claim_sentence, headline
from journeyman.apprentice.epsilon import epsilon_words, regret_words
from journeyman.demonstrations import Demonstration
from journeyman.experts import Boltzmann
from journeyman.mdp import FiniteMDP
from journeyman.mdp.memory import innermost, places_in
from journeyman.report.drawing.marks import named_kinds
from journeyman.report.learning.identifiability import WHOLLY, reason_not_learned
from journeyman.report.learning.summary import LearningSummary
from journeyman.wording import counted, listed, percent

MAX_NAMES = 8
SAMPLES_PER_DIRECTION = 20


def verdict_sentences(summary: LearningSummary) -> tuple[str, ...]:
    """Return the result in one to three sentences, the first of them the headline."""
    certificate = summary.verdict
    if summary.settings.goal == "reward":
        if summary.criticism.is_doubtful:
            return "THE MODEL IS DOUBTFUL: the answers do not fit what it assumes.", *summary.criticism.reasons
        if summary.is_finished:
            return "The reward is known well enough.", "Its intervals are narrow, or answers tell hardly anything more."
        return "The reward is not known well enough yet.", "More answers would still tell something about it."
    sentences = [headline(certificate), claim_sentence(certificate), *caution_sentences(certificate)]
    if summary.is_finished:
        sentences.append("A fresh, longer computation from the same answers has confirmed it: asking may stop.")
    elif certificate.status == "doubtful":
        sentences.append(f"Why: {'; '.join(certificate.reasons)}.")
    elif summary.certificate.holds_if_model_is_right:
        sentences.append("The current samples say yes, but a fresh and longer computation does not: keep asking.")
    return tuple(sentences)


def demonstrations_words(summary: LearningSummary) -> str:
    """Return how much was demonstrated: "4 demonstrations with 3,150 actions"."""
    words = counted(summary.num_demonstrations, "demonstration")
    if summary.num_decisions == summary.num_demonstrations:
        return words if summary.num_demonstrations < 2 else f"{words} of one action each"
    return f"{words} with {summary.num_decisions:,} actions"


def goal_sentence(summary: LearningSummary) -> str:
    """Return what was asked for, and how questions were chosen."""
    settings = summary.settings
    kind = "single actions" if settings.kind == "state" else f"trajectories of up to {settings.length} actions"
    chosen = ACQUISITIONS.find(settings.acquisition).summary
    return f"The expert was asked for {kind}. Questions were chosen by {settings.acquisition}: {chosen}."


def answer_words(mdp: FiniteMDP, answer: Demonstration | None) -> str:
    """Return what an expert did, by names: "up", or "up, up, left (ended)"; "" if there is no answer."""
    if answer is None:
        return ""
    shown = first_names([mdp.action_name(action) for _, action in answer.steps])
    return f"{shown or 'nothing'} (ended)" if answer.ended == "terminated" else shown


def shown_chance(chance: float | None) -> str:
    """Return a chance as a percentage, "?" if nobody computed it."""
    return "?" if chance is None else percent(chance)


def shown_number(number: float | None, form: str) -> str:
    """Return a number in a format such as ".2g", "?" if nobody computed it."""
    return "?" if number is None else format(number, form)


def shown_regret(regret: float | None, epsilon: float, digits: int = 3) -> str:
    """Return a regret as epsilon is measured, "?" if nobody computed it."""
    return "?" if regret is None else regret_words(regret, epsilon, digits)


def place_words(mdp: FiniteMDP, state: int) -> str:
    """Return a state by name, with its cell and kind on a grid."""
    name, grid = mdp.state_name(state), innermost(mdp).grid
    if grid is None:
        return name
    row, column = grid.places[places_in(mdp)[state]].tolist()
    kind = (named_kinds(mdp) or [""] * mdp.num_states)[state]
    return f"{name} (row {row}, column {column}{', ' if kind else ''}{kind})"


def short_place(mdp: FiniteMDP, state: int) -> str:
    """Return a state by name, with its kind where that is not the commonest: "30 (jail)"."""
    kind = (named_kinds(mdp) or [""] * mdp.num_states)[state]
    return f"{mdp.state_name(state)} ({kind})" if kind else mdp.state_name(state)


def first_names(names: Sequence[str]) -> str:
    """Return names with commas between them, the first few if they are many: "up, up and 5 more"."""
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def learned_sentence(summary: LearningSummary) -> str:
    """Return how much was learned, in directions of the reward."""
    found = summary.identifiability
    total = len(found.spreads)
    if total == 1:
        return f"The answers left {percent(float(min(found.spreads[0], 1.0)))} of the prior's standard deviation."
    error = f" (± {found.num_learned_error:.1f} by chance)" if found.num_learned_error >= 0.1 else ""
    sentence = (
        f"The answers pinned down about {found.num_learned:.1f} of {total} directions of the reward{error}; a "
        "direction counts as 1 when nothing of the prior's variance is left along it."
    )
    if summary.posterior.num_samples < SAMPLES_PER_DIRECTION * total:
        return sentence  # so few samples make some direction look known by chance
    left = percent(float(min(found.spreads[0], 1.0)))
    return f"{sentence} Along the best known one {left} of the prior's standard deviation is left."


def limits(summary: LearningSummary) -> Iterator[str]:
    """Say what cannot be known from any demonstrations, and why."""
    found, mdp = summary.identifiability, summary.problem.mdp
    if found.invisible is None:
        yield "This problem is too large to work out which changes of the reward no expert's choice depends on."
    elif len(found.invisible) == 0:
        yield (
            "With this reward model no change of the parameters is hidden from all experts: in principle, enough "
            "answers in all states would tell every parameter."
        )
    else:
        num_parameters = found.invisible.shape[1]
        yield (
            f"{len(found.invisible)} of {num_parameters} directions of the reward can never be learned, however many "
            "demonstrations come: such a change adds the same to the value of every action in a state, so that no "
            "choice of any expert differs (potential shaping)."
        )
        if found.shift is not None:
            once = (
                f" (and {1.0 / (1.0 - mdp.discount):.3g} in terminal cells, which pay once)"
                if mdp.terminal.any()
                else ""
            )
            yield (
                f"One of them is the level of the reward: adding 1 to the reward of every step{once} changes nothing "
                "that an expert does. Compare rewards with each other; do not read their absolute level."
            )
        share = found.invisible_share
        whole = [] if share is None else np.flatnonzero(share > WHOLLY).tolist()
        if whole:
            hidden = first_names([summary.parameters.names[i] for i in whole])
            yield f"These parameters can never be learned, since no choice depends on them: {hidden}."
    if "beta" in summary.problem.expert_space.single_names:
        yield (
            "The expert's beta is not known. A reward twice as large with half the beta explains nearly all answers as "
            "well, so that the scale of the reward is known as far as the priors of reward and beta tell it. Compare "
            "rewards with each other; do not read their absolute size."
        )
    elif isinstance(summary.problem.expert, Boltzmann):
        yield (
            "The scale of the reward rests on the beta that was assumed: with half the beta, a reward twice as large "
            "explains nearly all answers as well. A prior for beta says how much of the scale the answers tell."
        )
    if found.beyond.any():
        names = [mdp.state_name(state) for state in np.flatnonzero(found.beyond).tolist()]
        yield (
            f"In {counted(len(names), 'state')} no answer can ever show what the expert does, because nobody may be "
            f"asked there: {first_names(names) if len(names) > MAX_NAMES else listed(names)}."
        )


def open_parameters(summary: LearningSummary) -> tuple[tuple[str, float, str], ...]:
    """Return (name, share of the prior's standard deviation that is left, why) of parameters hardly learned so far."""
    knowledge = summary.parameters
    return tuple(
        (
            knowledge.names[i],
            float(knowledge.remaining[i]),
            reason_not_learned(i, summary.posterior, summary.identifiability, knowledge),
        )
        for i in knowledge.hardly_learned.tolist()
    )


def open_groups(summary: LearningSummary) -> dict[str, list[tuple[str, float]]]:
    """Return the parameters hardly learned so far, with what is left of their prior, by the reason; most first."""
    groups: dict[str, list[tuple[str, float]]] = {}
    for name, left, reason in open_parameters(summary):
        groups.setdefault(reason, []).append((name, left))
    return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def certainty_sentence(summary: LearningSummary) -> str:
    """Return in how many states the best action is sure."""
    chances = summary.certainty.chances
    if not len(chances):
        return "No state offers a choice."
    sure = int((chances >= 0.95).sum())
    return (
        f"In {sure} of {counted(len(chances), 'state')} with a choice, the apprentice's action is optimal with a "
        f"chance of at least 95 %; on average the chance is {percent(float(chances.mean()))}. A state may be unsure "
        "and yet cost little: what matters for the certificate is the regret."
    )


def change_sentence(summary: LearningSummary) -> str:
    """Return how the belief changed from before any answer to now."""
    first, last = summary.course[0], summary.course[-1]
    if first.failure_chance is None or last.failure_chance is None or len(summary.course) < 2:
        return f"There are {counted(last.num_demonstrations, 'demonstration')} so far."
    epsilon = summary.settings.epsilon
    parts = [
        f"the chance of a regret of {epsilon_words(epsilon)} or more went from {percent(first.failure_chance)} to "
        f"{percent(last.failure_chance)}"
    ]
    if first.expected_regret is not None and last.expected_regret is not None:
        regrets = [shown_regret(step.expected_regret, epsilon) for step in (first, last)]
        parts.append(f"expected regret from {regrets[0]} to {regrets[1]}")
    if first.entropy is not None and last.entropy is not None:
        parts.append(f"entropy by {last.entropy - first.entropy:+.2f} nats")
    return f"With {demonstrations_words(summary)}, by all samples: {', '.join(parts)}."
