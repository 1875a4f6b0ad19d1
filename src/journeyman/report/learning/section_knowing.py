"""Sections of a report on what was asked and why, what is known now, what cannot be known, and what to do."""

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from journeyman.apprentice.epsilon import epsilon_words, regret_words
from journeyman.report.drawing.cells import is_stacked
from journeyman.report.html import (
    MAX_ROWS,
    Markup,
    bullets,
    details,
    element,
    folded_table,
    join,
    paragraph,
    picture,
    section,
)
from journeyman.report.learning import figures, sentences
from journeyman.report.learning.summary import LearningSummary
from journeyman.types import FloatArray
from journeyman.wording import counted, listed, percent, plain_number

LINES = (
    "Dashed: delta, the chance that is acceptable, and epsilon, the regret that is too much. "
    f"Regrets below {figures.SMALLEST:g} are drawn at {figures.SMALLEST:g}."
)
MAX_UNSURE, FEW_PARAMETERS = 12, 3
ALL_SAMPLES = (
    "These numbers are there to compare steps with each other. They count all samples, also those that the policy was "
    "chosen on, which makes them look a little better than they are; what holds now is what the certificate says."
)


def column_table(caption: str, columns: Mapping[str, Iterable[object]], words: Container[str] = ()) -> Markup:
    """Return a table from its columns by heading; those in `words` hold words, all others numbers."""
    numeric = [place for place, heading in enumerate(columns) if heading not in words]
    return folded_table(list(columns), list(zip(*columns.values(), strict=True)), caption, numeric=numeric)


def asked_section(summary: LearningSummary) -> Markup:
    """Return what was asked and why, with the map of the next question."""
    mdp, asked = summary.problem.mdp, summary.asked
    columns: dict[str, Iterable[object]] = {
        "query": [item.query.id for item in asked],
        "asked in state": [sentences.place_words(mdp, item.query.state) for item in asked],
        "why there": [item.why for item in asked],
        "answer": [sentences.answer_words(mdp, item.answer) for item in asked],
        "status": [item.status for item in asked],
    }
    notes = []
    if summary.num_attached:
        notes.append(f"Without being asked for came {counted(summary.num_attached, 'demonstration')}.")
    if summary.num_undone:
        notes.append(f"Taken back, and counted no more: {counted(summary.num_undone, 'answer')}.")
    best = "" if summary.scores is None else sentences.place_words(mdp, summary.scores.best_state())
    return section(
        "asked",
        "What was asked, and why",
        paragraph(sentences.goal_sentence(summary)),
        column_table("Queries in the order of asking.", columns, words=list(columns)[1:])
        if asked
        else paragraph("Nothing yet."),
        *(paragraph(note) for note in notes),
        picture(
            lambda: figures.FIGURES["scores"].draw_fn(summary),
            alt=f"Score of the next question in every state; the highest is state {best}.",
            caption=f"What the next question would be worth in each state. The best place to ask is {best}.",
        ),
    )


def course_section(summary: LearningSummary) -> Markup:
    """Return how the belief changed with every answer."""
    return section(
        "course",
        "How the belief changed",
        paragraph(sentences.change_sentence(summary)),
        paragraph(ALL_SAMPLES),
        picture(
            lambda: figures.FIGURES["progress"].draw_fn(summary),
            alt=f"Lines over the steps. {sentences.change_sentence(summary)}",
            caption=LINES,
        ),
        course_table(summary),
        "" if summary.forecast is None else element("h3", "How many more answers it may take"),
        "" if summary.forecast is None else paragraph(summary.forecast.text()),
    )


def course_table(summary: LearningSummary) -> Markup:
    """Return the numbers behind the lines."""
    course, epsilon = summary.course, summary.settings.epsilon
    chance = f"chance of a regret of {epsilon_words(epsilon)} or more"
    columns: dict[str, Iterable[object]] = {
        "step": range(len(course)),
        "answers": [step.num_demonstrations for step in course],
        chance: [sentences.shown_chance(step.failure_chance) for step in course],
        "expected regret": [sentences.shown_regret(step.expected_regret, epsilon) for step in course],
        "entropy (nats)": [sentences.shown_number(step.entropy, ".2f") for step in course],
    }
    if summary.true_regrets:
        columns["true regret"] = [regret_words(regret, epsilon) for regret in summary.true_regrets]
    caption = "The belief before any answer, and after each step: an answer that came, or was taken back."
    return column_table(caption, columns)


def learned_section(summary: LearningSummary, truth: FloatArray | None = None) -> Markup:
    """Return what the reward may be: parameters against their prior, and every state with its interval."""
    knowledge, level = summary.parameters, f"{100 * summary.parameters.level:.0f} %"
    which = "each parameter"
    if len(knowledge.names) > figures.MAX_PARAMETERS:
        which = f"the {figures.MAX_PARAMETERS} parameters about which most was learned"
    return section(
        "learned",
        "What was learned about the reward",
        paragraph(sentences.learned_sentence(summary)),
        picture(
            lambda: figures.parameter_figure(knowledge, truth),
            alt=f"Intervals of {which} before and after the answers; the table below has the numbers.",
            caption=f"{level} intervals of {which} before (grey) and after the answers (blue).",
        ),
        parameter_table(summary, truth),
        expert_table(summary),
        element(
            "div",
            picture(
                lambda: figures.FIGURES["reward"].draw_fn(summary),
                alt="Posterior mean of the reward in every state; the table below has the numbers.",
                caption="The reward of each state: posterior mean.",
            ),
            picture(
                lambda: figures.FIGURES["uncertainty"].draw_fn(summary),
                alt="Posterior standard deviation of the reward in every state; the table below has the numbers.",
                caption="How uncertain the reward of each state is: posterior standard deviation.",
            ),
            class_="" if is_stacked(summary.problem.mdp) else "sides",
        ),
        details(f"{level} intervals of every reward", reward_table(summary)),
    )


def parameter_table(summary: LearningSummary, truth: FloatArray | None) -> Markup:
    """Return the numbers of every parameter."""
    known = summary.parameters
    order = np.arange(len(known.names))
    if len(order) > MAX_ROWS:
        order = np.argsort(known.remaining, kind="stable")
    columns: dict[str, Iterable[object]] = {
        "parameter": [known.names[i] for i in order.tolist()],
        "mean": map(plain_number, known.mean[order]),
        "sd": map(plain_number, known.std[order]),
        f"{100 * known.level:.0f} % interval": map(interval, known.intervals[order]),
        "of the prior's sd left": map(percent, known.remaining[order]),
        "of what is at stake": [percent(value, 3) for value in known.shares[order]],
        "its interval": [f"{percent(low, 3)} to {percent(high, 3)}" for low, high in known.share_intervals[order]],
    }
    if truth is not None:
        columns["truth"] = map(plain_number, truth[order])
    caption = (
        f"Parameters of the reward{', best known first' if len(order) > MAX_ROWS else ''}. At stake is what the best "
        "policy gains, in all, over acting at random; in these units rewards can be compared, whatever the "
        "beta of the expert."
    )
    return column_table(caption, columns, words=("parameter",))


def expert_table(summary: LearningSummary) -> Markup | str:
    """Return what was learned about the expert, if something was not known."""
    if not summary.expert:
        return ""
    columns: dict[str, Iterable[object]] = {
        "parameter": [one.name for one in summary.expert],
        "mean": [plain_number(one.mean) for one in summary.expert],
        "sd": [plain_number(one.std) for one in summary.expert],
        f"{100 * summary.parameters.level:.0f} % interval": [interval(one.interval) for one in summary.expert],
        "before the answers": [interval(one.prior_interval) for one in summary.expert],
    }
    return column_table("What is not known of the expert.", columns, words=("parameter",))


def reward_table(summary: LearningSummary) -> Markup:
    """Return mean, standard deviation and interval of every reward."""
    mdp, rewards = summary.problem.mdp, summary.rewards
    columns: dict[str, Iterable[object]] = {
        "state": [sentences.place_words(mdp, state) for state in rewards.states.tolist()]
    }
    if rewards.actions is not None:
        columns["action"] = [mdp.action_name(action) for action in rewards.actions.tolist()]
    columns |= {
        "mean": map(plain_number, rewards.mean),
        "sd": map(plain_number, rewards.std),
        "interval": map(interval, rewards.intervals),
    }
    return column_table("What each state pays.", columns, words=("state", "action"))


def interval(bounds: FloatArray | tuple[float, float]) -> str:
    """Return an interval in words; one number where both ends are the same."""
    low, high = (plain_number(bound) for bound in bounds)
    return low if low == high else f"{low} to {high}"


def limits_section(summary: LearningSummary) -> Markup:
    """Return what cannot be known, and what is not known yet, and why."""
    groups = sentences.open_groups(summary)
    num_unseen = int(summary.identifiability.unseen.sum())
    return section(
        "limits",
        "What is not identifiable, and why",
        element("h3", "What no demonstrations can tell"),
        bullets(sentences.limits(summary)),
        element("h3", "What these answers do not tell yet"),
        hardly_learned(groups, len(summary.parameters.names))
        if groups
        else paragraph("Every parameter is surer than before: less than 90 % of its prior standard deviation is left."),
        paragraph(
            f"In {num_unseen} of {len(summary.certainty.states)} states with a choice, no answer has shown what the "
            "expert does. That is not a problem in itself: answers elsewhere may tell enough about them."
        ),
    )


def hardly_learned(groups: Mapping[str, Sequence[tuple[str, float]]], num_parameters: int) -> Markup:
    """Return the parameters that are nearly as unsure as before, by the reason, each said once."""
    num_open = sum(map(len, groups.values()))
    parts = [
        paragraph(
            f"{num_open} of {counted(num_parameters, 'parameter')} {'is' if num_open == 1 else 'are'} hardly learned: "
            "more than 90 % of the prior's standard deviation is left."
        )
    ]
    for reason, members in groups.items():
        if len(members) <= FEW_PARAMETERS:
            names = listed([f"{name} ({percent(left)} left)" for name, left in members])
            parts.append(paragraph(f"{names}: {reason}."))
            continue
        columns: dict[str, Iterable[object]] = {
            "parameter": [name for name, _ in members],
            "of the prior's sd left": [percent(left) for _, left in members],
        }
        caption = "The least known first."
        parts.append(
            details(f"{len(members)} parameters: {reason}", column_table(caption, columns, words=("parameter",)))
        )
    return join(*parts)


def actions_section(summary: LearningSummary) -> Markup:
    """Return what the apprentice does, and how sure that is."""
    mdp, certainty = summary.problem.mdp, summary.certainty
    order = certainty.order
    columns = {
        "state": [sentences.place_words(mdp, state) for state in certainty.states[order].tolist()],
        "apprentice does": [mdp.action_name(action) for action in certainty.actions[order].tolist()],
        "optimal with chance": [percent(chance) for chance in certainty.chances[order]],
        "else most likely": [mdp.action_name(action) for action in certainty.rivals[order].tolist()],
        "with chance": [percent(chance) for chance in certainty.rival_chances[order]],
    }
    words = ("state", "apprentice does", "else most likely")
    first = {heading: cells[:MAX_UNSURE] for heading, cells in columns.items()}
    unsure = column_table("The least sure states first.", first, words)
    every = details("all states", column_table("All states with a choice.", columns, words))
    return section(
        "actions",
        "What to do: the apprentice's policy",
        paragraph(sentences.certainty_sentence(summary)),
        picture(
            lambda: figures.FIGURES["policy"].draw_fn(summary),
            alt="The apprentice's action in every state and the chance that it is optimal; the table has the numbers.",
            caption="What the apprentice does, and the chance that this is optimal. Equally good actions all count as "
            "optimal.",
        ),
        join(unsure, every if len(order) > MAX_UNSURE else "") if len(order) else "",
    )
