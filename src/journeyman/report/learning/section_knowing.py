"""Sections of a report on what was asked and why, what is known now, what cannot be known, and what to do."""

from journeyman.report.html import Markup, bullets, details, element, folded_table, join, paragraph, picture, section
from journeyman.report.learning.figures import (
    MAX_PARAMETERS,
    SMALLEST,
    apprentice_figure,
    parameter_figure,
    progress_figure,
    reward_figure,
    score_map_figure,
)
from journeyman.report.learning.sentences import (
    answer_words,
    certainty_sentence,
    change_sentence,
    goal_sentence,
    learned_sentence,
    limits,
    open_parameters,
    place_words,
    shown_chance,
    shown_number,
)
from journeyman.report.learning.summary import LearningSummary
from journeyman.types import FloatArray
from journeyman.wording import counted, percent, plain_number

LINES = (
    "Dashed: delta, the chance that is acceptable, and epsilon, the regret that is too much. "
    f"Regrets below {SMALLEST:g} are drawn at {SMALLEST:g}."
)
MAX_UNSURE = 12


def asked_section(summary: LearningSummary) -> Markup:
    """Return what was asked and why, with the map of the next question."""
    mdp = summary.problem.mdp
    rows = [
        (item.query.id, place_words(mdp, item.query.state), item.why, answer_words(mdp, item.answer), item.status)
        for item in summary.asked
    ]
    header = ("query", "asked in state", "why there", "answer", "status")
    notes = []
    if summary.num_attached:
        notes.append(f"Without being asked for came {counted(summary.num_attached, 'demonstration')}.")
    if summary.num_undone:
        notes.append(f"Taken back, and counted no more: {counted(summary.num_undone, 'answer')}.")
    best = "" if summary.scores is None else place_words(mdp, summary.scores.best_state())
    return section(
        "asked",
        "What was asked, and why",
        paragraph(goal_sentence(summary)),
        folded_table(header, rows, "Queries in the order of asking.", numeric=(0,))
        if rows
        else paragraph("Nothing yet."),
        *(paragraph(note) for note in notes),
        picture(
            lambda: score_map_figure(summary),
            alt=f"Score of the next question in every state; the highest is state {best}.",
            caption=f"What the next question would be worth in each state. The best place to ask is {best}.",
        ),
    )


def course_section(summary: LearningSummary) -> Markup:
    """Return how the belief changed with every answer."""
    return section(
        "course",
        "How the belief changed",
        paragraph(change_sentence(summary)),
        picture(
            lambda: progress_figure({summary.settings.acquisition: summary}),
            alt=f"Lines over the steps. {change_sentence(summary)}",
            caption=LINES,
        ),
        course_table(summary),
        "" if summary.forecast is None else element("h3", "How many more answers it may take"),
        "" if summary.forecast is None else paragraph(summary.forecast.text()),
    )


def course_table(summary: LearningSummary) -> Markup:
    """Return the numbers behind the lines."""
    truths = summary.true_regrets
    chance = f"chance of a regret of {summary.settings.epsilon:.4g} or more"
    header = ["step", "answers", chance, "expected regret", "entropy (nats)", *(["true regret"] if truths else [])]
    rows = [
        [
            number,
            step.num_demonstrations,
            shown_chance(step.failure_chance),
            shown_number(step.expected_regret, ".3g"),
            shown_number(step.entropy, ".2f"),
            *([f"{truths[number]:.3g}"] if truths else []),
        ]
        for number, step in enumerate(summary.course)
    ]
    caption = "The belief before any answer, and after each step: an answer that came, or was taken back."
    return folded_table(header, rows, caption, numeric=range(len(header)))


def learned_section(summary: LearningSummary, truth: FloatArray | None = None) -> Markup:
    """Return what the reward may be: parameters against their prior, and every state with its interval."""
    knowledge, level = summary.parameters, f"{100 * summary.parameters.level:.0f} %"
    which = "each parameter"
    if len(knowledge.names) > MAX_PARAMETERS:
        which = f"the {MAX_PARAMETERS} parameters about which most was learned"
    return section(
        "learned",
        "What was learned about the reward",
        paragraph(learned_sentence(summary)),
        picture(
            lambda: parameter_figure(knowledge, truth),
            alt=f"Intervals of {which} before and after the answers; the table below has the numbers.",
            caption=f"{level} intervals of {which} before (grey) and after the answers (blue).",
        ),
        parameter_table(summary, truth),
        picture(
            lambda: reward_figure(summary),
            alt="Posterior mean and standard deviation of the reward in every state; the table below has the numbers.",
            caption="The reward of each state: posterior mean, and how unsure it is.",
        ),
        details(f"{level} intervals of every reward", reward_table(summary)),
    )


def parameter_table(summary: LearningSummary, truth: FloatArray | None) -> Markup:
    """Return the numbers of every parameter."""
    knowledge = summary.parameters
    header = ["parameter", "mean", "sd", f"{100 * knowledge.level:.0f} % interval", "of the prior's sd left"]
    header += [] if truth is None else ["truth"]
    rows = [
        [
            name,
            plain_number(knowledge.mean[i]),
            plain_number(knowledge.std[i]),
            interval(knowledge.intervals[i]),
            percent(float(knowledge.remaining[i])),
            *([] if truth is None else [plain_number(truth[i])]),
        ]
        for i, name in enumerate(knowledge.names)
    ]
    return folded_table(header, rows, "Parameters of the reward.", numeric=range(1, len(header)))


def reward_table(summary: LearningSummary) -> Markup:
    """Return mean, standard deviation and interval of every reward."""
    mdp, rewards = summary.problem.mdp, summary.rewards
    header = ["state", "mean", "sd", "interval"]
    names = [[place_words(mdp, state)] for state in rewards.states.tolist()]
    if rewards.actions is not None:
        header.insert(1, "action")
        names = [[*name, mdp.action_name(action)] for name, action in zip(names, rewards.actions.tolist(), strict=True)]
    rows = [
        [*name, plain_number(rewards.mean[i]), plain_number(rewards.std[i]), interval(rewards.intervals[i])]
        for i, name in enumerate(names)
    ]
    first_number = len(header) - 3
    return folded_table(header, rows, "What each state pays.", numeric=range(first_number, len(header)))


def interval(bounds: FloatArray) -> str:
    """Return an interval in words; one number where both ends are the same."""
    low, high = (plain_number(bound) for bound in bounds)
    return low if low == high else f"{low} to {high}"


def limits_section(summary: LearningSummary) -> Markup:
    """Return what cannot be known, and what is not known yet, and why."""
    parameters = open_parameters(summary)
    rows = [(name, percent(share), reason) for name, share, reason in parameters]
    num_unseen = int(summary.identifiability.unseen.sum())
    return section(
        "limits",
        "What is not identifiable, and why",
        element("h3", "What no demonstrations can tell"),
        bullets(limits(summary)),
        element("h3", "What these answers do not tell yet"),
        folded_table(
            ("parameter", "of the prior's sd left", "why"),
            rows,
            "Parameters that are nearly as unsure as before: more than 90 % of the prior's standard deviation is left.",
            numeric=(1,),
        )
        if rows
        else paragraph("Every parameter is surer than before: less than 90 % of its prior standard deviation is left."),
        paragraph(
            f"In {num_unseen} of {len(summary.certainty.states)} states with a choice, no answer has shown what the "
            "expert does. That is not a problem in itself: answers elsewhere may tell enough about them."
        ),
    )


def actions_section(summary: LearningSummary) -> Markup:
    """Return what the apprentice does, and how sure that is."""
    mdp, certainty = summary.problem.mdp, summary.certainty
    order = certainty.order.tolist()
    header = ("state", "apprentice does", "optimal with chance", "else most likely", "with chance")
    rows = [
        (
            place_words(mdp, int(certainty.states[i])),
            mdp.action_name(int(certainty.actions[i])),
            percent(float(certainty.chances[i])),
            mdp.action_name(int(certainty.rivals[i])),
            percent(float(certainty.rival_chances[i])),
        )
        for i in order
    ]
    unsure = folded_table(header, rows[:MAX_UNSURE], "The least sure states first.", numeric=(2, 4))
    every = details("all states", folded_table(header, rows, "All states with a choice.", numeric=(2, 4)))
    return section(
        "actions",
        "What to do: the apprentice's policy",
        paragraph(certainty_sentence(summary)),
        picture(
            lambda: apprentice_figure(summary),
            alt="The apprentice's action in every state and the chance that it is optimal; the table has the numbers.",
            caption="What the apprentice does, and the chance that this is optimal. Equally good actions all count as "
            "optimal.",
        ),
        join(unsure, every if len(rows) > MAX_UNSURE else "") if rows else "",
    )
