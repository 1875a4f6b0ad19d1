"""The page "Which function should I use?": recommendations that follow from the evidence by a stated rule."""

from collections.abc import Sequence
from dataclasses import replace

from pandas import DataFrame

from journeyman.acquisition.goals import MAX_LOOKAHEAD_STATES
from journeyman.wording import listed
from reproduction.pages.advice import BUDGETS, CANDIDATES, GOALS, MIN_SEEDS, OURS, OVERALL, Choice
from reproduction.pages.claims_cost import step_costs
from reproduction.pages.comparing import (
    FAILURE,
    MEASURES,
    MIN_INSTANCES,
    REGRET,
    Difference,
    Measure,
    difference_table,
    differences,
)
from reproduction.pages.numbers import NumberTable
from reproduction.pages.sources import NUM_SEEDS, NUM_STEPS, RESUME, TITLES, Sources, num_instances

CALLS = {
    "random": "`random`",
    "action entropy": "`action_entropy`",
    "policy entropy": "`policy_entropy`",
    "ActiveVaR": "`active_var`",
    "Reward-EIG": "`reward_eig`",
    "PAC-EIG": "`pac_eig` with `edges=(0, 1), occupancy=False`",
    "nuPAC-EIG": "`pac_eig`",
    **{name: f"`{name}`" for name in OURS},
}
SITUATIONS = {
    "random-10x10": "single annotations, few initial states (10x10 grid, two of them)",
    "random-8x8": "single annotations, any initial state (8x8 grid, noisier expert)",
    "random-8x8-trajectories": "short trajectories, any initial state (8x8 grid, at most 5 steps)",
    "jail": "whole trajectories, few unknowns (jail, three parameters)",
}
DEFAULTS = f"""## What a learner does if you do not choose

On problems of up to {MAX_LOOKAHEAD_STATES} states it uses `failure_chance`, for annotations and trajectories, or
`pac_eig` if the certificate is about every state. `failure_chance` was added after these runs and is not in the tables
here; [what it saves](../certificate.md#what-that-saves) was measured separately. Of the functions that
are, `regret_pac` has [less true regret](#do-our-own-functions-beat-nupac-eig) than `pac_eig` with single annotations in
both worlds; the chance of regret is lower in one and not told apart in the other. On more states looking ahead takes
seconds, and nothing was measured, so it uses `pac_eig`. For the reward it uses `reward_eig`."""
RULE = f"""## The rule

On each instance the functions are ranked by the measure; the one with the lowest mean rank over instances is *best*.
The others are compared with it on the same instances. A function whose mean difference to the best has a 95 % interval
(Student) above 0 is *worse*; the rest are *not told apart* from it by this many instances. In the table by budget, bold
means that the best beats the runner-up, and a number in brackets says how many functions are not told apart from it.
With fewer than {MIN_INSTANCES} instances there is no recommendation. Methods beyond the paper's experiment count where
at least {MIN_SEEDS} instances have met them, our own for the policy only. Intervals are not corrected for the number
of comparisons.

Goal *policy*: P[regret > 0.1] under the posterior, which is what a certificate needs and is less noisy than the true
regret of single instances; the true regret is shown beside it, and has to agree. Goal *reward*: posterior entropy. "In
short" goes by the average over all steps. Forms of PAC-EIG with another scope or other edges are compared in
[claim 9](claims.md#9-which-form-of-pac-eig), not here."""


def advice_page(sources: Sources, choices: Sequence[Choice]) -> tuple[str, list[NumberTable]]:
    """Return the page as Markdown, and the tables that it shows."""
    budgets, evidence = _budget_table(choices), _evidence_table(choices)
    costs, own = _cost_table(sources), _own_section(sources)
    parts = [
        "# Which function should I use?",
        "*Made by `make reproduction-docs` from the committed tables; do not edit. Numbers: "
        f"[{evidence.name}.csv]({evidence.file}).*",
        _seeds(choices),
        "## In short",
        "\n".join(f"- {line}" for line in _recommendations(choices, sources)),
        DEFAULTS,
        "## By budget",
        budgets.markdown(),
        "## What it costs",
        costs.markdown(),
        "People take longer to answer than any of these: choose by evidence, not by cost, unless the expert is a "
        "program.",
        own[0],
        RULE,
        _names(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n", [budgets, evidence, costs, *own[1]]


def _seeds(choices: Sequence[Choice]) -> str:
    counts = {item.experiment: item.n for item in choices if item.budget == OVERALL}
    if all(count >= NUM_SEEDS for count in counts.values()):
        return f"Evidence: {NUM_SEEDS} instances of each world, {NUM_STEPS} answers each."
    words = ", ".join(f"{TITLES[name]}: {count}" for name, count in counts.items())
    return f"Evidence so far, in instances ({NUM_SEEDS} are planned): {words}. To continue: `{RESUME}`."


def _recommendations(choices: Sequence[Choice], sources: Sources) -> list[str]:
    lines = []
    for goal, measures in GOALS.items():
        for name, situation in SITUATIONS.items():
            found = {item.measure: item for item in choices if item.experiment == name and item.budget == OVERALL}
            if measures[0] in found:
                lines.append(f"**To learn the {goal}; {situation}:** {recommendation(found, measures)}")
    return lines


def recommendation(found: dict[Measure, Choice], measures: Sequence[Measure]) -> str:
    """Return what to use, by the first measure over all steps, and whether the second agrees."""
    item = found[measures[0]]
    if not item.is_known:
        return f"the evidence is not enough yet (n = {item.n})."
    text = f"{CALLS[item.best]} (mean rank {item.ranks[item.best]:.1f} of {len(item.ranks)}, n = {item.n})"
    if item.rivals:
        text += f"; not told apart from {listed([CALLS[name] for name in item.rivals])}."
    else:
        text += f", ahead of {CALLS[item.against[0].method]} and all others."
    for other in measures[1:]:
        check = found.get(other)
        if check is None or not check.is_known:
            continue
        if item.best == check.best:
            text += " By true regret it is the best too."
        elif item.best in check.rivals:
            text += f" By true regret {CALLS[check.best]} is best, but not told apart from it."
        else:
            text += f" By true regret it is worse than {CALLS[check.best]}: weigh which of the two you need."
    return text


def _budget_table(choices: Sequence[Choice]) -> NumberTable:
    """Return the best function per setting, measure and budget."""
    rows = []
    for name in SITUATIONS:
        for goal, measures in GOALS.items():
            for measure in measures:
                own = {item.budget: item for item in choices if item.experiment == name and item.measure == measure}
                if own:
                    row = {"goal": goal, "setting": TITLES[name], "measure": measure.words, "n": own[OVERALL].n}
                    rows.append(row | {f"{budget}": best_text(own[budget]) for budget in BUDGETS})
    shown = {"goal": "goal", "setting": "setting", "by": "measure", "n": "n"}
    frame = DataFrame(rows, columns=["goal", "setting", "measure", "n", *map(str, BUDGETS)])
    frame = frame.sort_values("goal", kind="stable")
    return NumberTable(
        "advice-budgets",
        "Best function after each number of answers",
        frame,
        shown | {f"{budget} answers": str(budget) for budget in BUDGETS},
    )


def best_text(item: Choice) -> str:
    """Return the best function: bold if it beats the runner-up, with the number of those not told apart."""
    if not item.is_known:
        return "too few"
    if item.is_clear:
        return f"**{item.best}**"
    if len(item.rivals) == len(item.ranks) - 1:
        return "no difference shown"
    return f"{item.best} ({len(item.rivals)})" if item.rivals else item.best


def _evidence_table(choices: Sequence[Choice]) -> NumberTable:
    """Return every comparison that the page rests on, for the file."""
    rows = []
    for item in choices:
        keys: dict[str, object] = {"experiment": item.experiment, "budget": item.budget or "average", "best": item.best}
        keys["rank_of_best"] = item.ranks[item.best]
        for other in item.against:
            rows.append(keys | {"rank": item.ranks[other.method], **other._asdict(), "is_worse": other.is_worse})
    return NumberTable("advice-evidence", "All comparisons with the best function", DataFrame(rows), {})


def _cost_table(sources: Sources) -> NumberTable:
    """Return milliseconds to choose and to learn, by method and experiment."""
    steps = step_costs(sources)
    steps = steps[(steps["inference"] == "smc") & steps["method"].isin(CANDIDATES)]
    frame = steps.assign(choose_ms=1e3 * steps["acquisition_median"], learn_ms=1e3 * steps["posterior_mean"])
    page = frame.pivot(index="method", columns="experiment", values="choose_ms")
    page = page.reindex([method for method in CANDIDATES if method in page.index])
    learn = frame.groupby("experiment")["learn_ms"].median()
    page.loc["(learning from an answer: median of the methods' means)"] = learn
    shown = {"function": "method"} | {TITLES[name]: name for name in SITUATIONS if name in page.columns}
    return NumberTable(
        "advice-costs", "Median milliseconds to choose one query, on one core", frame, shown, page.reset_index()
    )


def _own_section(sources: Sources) -> tuple[str, list[NumberTable]]:
    """Say whether our own functions beat nuPAC-EIG, each on all instances that it has finished."""
    texts, tables = [], []
    for name in ("random-10x10", "random-8x8"):
        found = {method: own_differences(sources, name, method) for method in OURS if name in sources.tables}
        known = {method: items for method, items in found.items() if items}
        if not known:
            texts.append(f"{TITLES[name]}: not run yet on enough instances.")
            continue
        texts.append(f"{TITLES[name]}: " + " ".join(own_words(method, items) for method, items in known.items()))
        caption = f"{TITLES[name]}: our own functions against nuPAC-EIG on the same instances"
        items = [
            item for measure in MEASURES for own in known.values() for item in own if item.measure == measure.words
        ]
        table = difference_table(f"advice-ours-{name}", f"{caption}; single steps are in the file", items)
        page = table.frame[table.frame["span"].str.startswith("average")]
        tables.append(replace(table, page=page, shown={"n": "n", **table.shown}))
    parts = ["## Do our own functions beat nuPAC-EIG?", *texts, *(table.markdown() for table in tables)]
    return "\n\n".join(parts), tables


def own_differences(sources: Sources, name: str, method: str) -> list[Difference]:
    """Compare one of our functions with nuPAC-EIG; none if too few instances have both, and the paper's methods."""
    table = sources.complete(name, [method, *sources.paper_methods(name)])
    if table is None or num_instances(table) < MIN_INSTANCES:
        return []
    return [
        item
        for measure in MEASURES
        for item in differences(table, measure, [method], "nuPAC-EIG", steps=[10, 20, 30, 50])
    ]


def own_words(method: str, found: Sequence[Difference]) -> str:
    """Say whether a method beats nuPAC-EIG over all steps, in true regret and in the chance of regret."""
    own = {item.measure: item for item in found if item.method == method and item.span.startswith("average")}
    regret, chance = own[REGRET.words], own[FAILURE.words]
    numbers = f"(regret {regret.words}, P[regret > 0.1] {chance.words}, n = {regret.n})"
    verdicts = [_verdict(item) for item in (regret, chance)]
    if verdicts[0] == verdicts[1]:
        return f"`{method}` {verdicts[0]} in true regret and in P[regret > 0.1] {numbers}."
    return f"`{method}` {verdicts[0]} in true regret, but {verdicts[1]} in P[regret > 0.1] {numbers}."


def _verdict(item: Difference) -> str:
    return "beats it" if item.is_better else "is worse" if item.is_worse else "is not told apart from it"


def _names() -> str:
    lines = [f"- {label}: {call}" for label, call in CALLS.items() if label not in OURS]
    return "## Names\n\nThe tables use the paper's names. In the library they are\n\n" + "\n".join(lines)
