"""Certificates: how often the first one of a run is wrong, by method; and answers to a certificate by both rules."""

from pandas import DataFrame

from journeyman.calibration import exact_interval
from reproduction.pages.numbers import Cell, NumberTable, interval_cell, short
from reproduction.pages.sources import TITLES, Sources
from reproduction.pages.steps import at_most, mean_row

EPSILON = 0.1
OLD, NEW = "0.1.0", "today"  # rules in bench/answers.jsonl
ALL = "all together"
FIRST_TEXT = (
    "A certificate says that the regret is below 0.1 with a chance of at least 0.9. These are the *first* ones of each "
    "run, by the rule of 0.1.0 (half of the particles choose the policy, half certify it), unconfirmed: where somebody "
    "would stop who looks after every answer. A learner confirms before it stops, so that its promise is about other "
    "certificates ([what that promise is worth](../trust.md)). Methods on one seed share its truth and the noise of "
    "its expert: wrong certificates come together, and the exact binomial intervals, which take runs for "
    "independent, are too narrow where methods are put together. On the published random grids terminal cells depend "
    "on the truth, which the prior does not know. "
)
RULE_TEXT = (
    "The present rule of 0.2.0 draws samples until the claim is decided, and asks other questions. Both rules, each "
    "until a *confirmed* certificate or 150 answers, on the same instances with the same noise (from "
    "[bench/answers.jsonl](../../bench/answers.jsonl); [how the rule works](../certificate.md)). It takes fewer "
    "answers, and it spends more of the error that it may make."
)


def certificate_section(sources: Sources) -> tuple[str, tuple[NumberTable, ...]]:
    """Return what to say, and the tables that there are results for."""
    first = first_frame(sources)
    tables = [] if first.empty else [_first_table(first)]
    rules = rule_frame(sources)
    if not rules.empty:
        tables.append(_rule_table(rules))
    text = FIRST_TEXT + " ".join(_concentration(row) for row in first.to_dict("records") if row["method"] == ALL)
    return f"{text}\n\n{RULE_TEXT}", tuple(tables)


def first_certificates(table: DataFrame) -> DataFrame:
    """Return the row of each run at which its certificate holds for the first time, and whether it is wrong."""
    holds = table[table["certificate_holds"].fillna(False).astype(bool)].sort_values("step")
    first = holds.drop_duplicates("cell")
    return first.assign(is_wrong=~at_most(first["true_regret"], EPSILON))


def first_frame(sources: Sources) -> DataFrame:
    """Return per experiment and method of the paper how many first certificates there are, and how many are wrong."""
    rows = []
    for name in TITLES:
        methods = sources.paper_methods(name)
        table = sources.complete(name, methods) if methods else None
        if table is None:
            continue
        first = first_certificates(table)
        for method in [*methods, ALL]:
            own = first if method == ALL else first[first["method"] == method]
            wrong, runs = own[own["is_wrong"]], table if method == ALL else table[table["method"] == method]
            low, high = exact_interval(len(wrong), len(own))
            rows.append(
                {
                    "experiment": name,
                    "method": method,
                    "num_runs": int(runs["cell"].nunique()),
                    "num_certified": len(own),
                    "median_step": float(own["step"].median()) if len(own) else float("nan"),
                    "num_wrong": len(wrong),
                    "share": len(wrong) / len(own) if len(own) else float("nan"),
                    "low": low if len(own) else float("nan"),
                    "high": high if len(own) else float("nan"),
                    "num_seeds": int(own["seed"].nunique()),
                    "wrong_seeds": " ".join(str(seed) for seed in sorted(wrong["seed"].unique())),
                }
            )
    return DataFrame(rows)


def _concentration(row: dict[str, object]) -> str:
    """Say on how many seeds the wrong certificates of an experiment lie."""
    if not row["num_wrong"]:
        return f"{TITLES[str(row['experiment'])]}: none of {row['num_certified']} is wrong."
    seeds = str(row["wrong_seeds"]).split()
    return (
        f"{TITLES[str(row['experiment'])]}: {row['num_wrong']} of {row['num_certified']} are wrong, on {len(seeds)} of "
        f"{row['num_seeds']} seeds that have one."
    )


def _first_table(frame: DataFrame) -> NumberTable:
    return NumberTable(
        "first-certificates",
        "First certificates by the rule of 0.1.0, unconfirmed: how many runs get one, the median step, and how many "
        "are wrong, with the exact binomial interval and the seeds",
        frame,
        {
            "experiment": "experiment",
            "method": "method",
            "certified": lambda row: f"{row['num_certified']} of {row['num_runs']}",
            "median step": "median_step",
            "wrong": "num_wrong",
            "share (95 %)": interval_cell("share", "low", "high"),
            "on seeds": lambda row: row["wrong_seeds"] or "-",
        },
    )


def rule_frame(sources: Sources) -> DataFrame:
    """Return per world what both rules take until a confirmed certificate, on the instances that both have met."""
    rows = []
    for world in dict.fromkeys(row["world"] for row in sources.answers):
        by_rule = {
            rule: {row["seed"]: row for row in sources.answers if row["world"] == world and row["rule"] == rule}
            for rule in (OLD, NEW)
        }
        seeds = sorted(set(by_rule[OLD]) & set(by_rule[NEW]))
        if not seeds:
            continue
        answers = DataFrame({rule: [by_rule[rule][seed]["answers"] for seed in seeds] for rule in by_rule})
        found = {"world": world, "n": len(seeds)} | {
            f"saved_{key}": value for key, value in mean_row(answers[OLD] - answers[NEW]).items() if key != "n"
        }
        for rule in (OLD, NEW):
            certified = [by_rule[rule][seed] for seed in seeds if by_rule[rule][seed]["is_certified"]]
            wrong = sum(row["regret"] >= EPSILON for row in certified)
            low, high = exact_interval(wrong, len(certified))
            found |= {
                f"{rule}_answers": float(answers[rule].mean()),
                f"{rule}_certified": len(certified),
                f"{rule}_wrong": wrong,
                f"{rule}_low": low,
                f"{rule}_high": high,
            }
        rows.append(found)
    return DataFrame(rows)


def _rule_table(frame: DataFrame) -> NumberTable:
    shown: dict[str, str | Cell] = {"world": "world", "n": "n"}
    shown |= {f"answers, {rule}": f"{rule}_answers" for rule in (OLD, NEW)}
    shown["saved (95 %)"] = interval_cell("saved_mean", "saved_low", "saved_high")
    for rule in (OLD, NEW):
        shown[f"wrong, {rule} (95 %)"] = _wrong_cell(rule)
    return NumberTable(
        "certificate-rules",
        "Answers to a confirmed certificate (150 where there is none), by the rule and the questions of 0.1.0 and by "
        "today's defaults; wrong ones of those certified. Terminals are independent of the reward unless the world "
        "says published",
        frame,
        shown,
    )


def _wrong_cell(rule: str) -> Cell:
    return lambda row: (
        f"{row[f'{rule}_wrong']} of {row[f'{rule}_certified']} "
        f"({short(row[f'{rule}_low'])} to {short(row[f'{rule}_high'])})"
    )
