"""The index of the folder: what there is, how it was run, how to make it again; with all figures."""

from collections.abc import Mapping, Sequence

from pandas import DataFrame, Series

from reproduction.pages.claim import Claim
from reproduction.pages.claims_cost import core_hours, hours_table
from reproduction.pages.figures import FOLDER
from reproduction.pages.machine import machine_words
from reproduction.pages.numbers import NumberTable, markdown_table, short
from reproduction.pages.sources import CHAINS, NUM_SEEDS, NUM_STEPS, RESUME, TITLES, Sources
from reproduction.timing_table import PAPER_THREAD_HOURS, Machine

AIM = 6.0  # core-hours for the paper's methods


def readme_page(
    sources: Sources, claims: Sequence[Claim], captions: Mapping[str, str], machine: Machine
) -> tuple[str, list[NumberTable]]:
    """Return the page as Markdown, and the tables that it shows."""
    hours = core_hours(sources)
    table = hours_table(hours)
    smc = hours[hours["inference"] == "smc"]
    published = float(smc[smc["methods"] == "the paper's"]["core_hours"].sum())
    verdicts = [claim.verdict for claim in claims]
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    parts = [
        "# The paper, reproduced",
        "*Made by `make reproduction-docs`; do not edit.*",
        'The experiments of "PAC Apprenticeship Learning with Bayesian Active IRL" at their published size: '
        f"{NUM_SEEDS} instances, {NUM_STEPS} answers, all methods on the same instances with the same simulated "
        "expert.",
        f"- [claims.md](claims.md): {len(claims)} claims, what we measured, verdicts ({counts}), and the "
        "reasons where it differs.\n"
        "- [which-function.md](which-function.md): which function to use, from the paired evidence.\n"
        "- [numbers/](numbers): every number of these pages as CSV. [tables/](../../reproduction/tables): the "
        "results they come from, one row per run and step ([columns](../../src/journeyman/experiment/results.py)).\n"
        "- [Figures](#figures): the paper's, redrawn, and new ones.",
        "## How it was run",
        _progress(sources),
        f"The paper's methods took {short(published)} core-hours (aim: at most {AIM:g} for all seeds), everything so "
        f"far {short(float(hours['core_hours'].sum()))}. The paper's experiments took up to a day on 128 threads, "
        f"{PAPER_THREAD_HOURS:g} thread-hours at most.",
        table.markdown(),
        "The machine and the versions:",
        machine_words(machine),
        "## Make it again",
        "Pages, numbers and figures from the committed tables, in a few minutes:",
        "```sh\nmake reproduction-docs\n```",
        "Continue the runs: what the tables hold is not run again, and the command can be stopped and repeated at "
        "any time. Then copy the tables of the run, and make the pages.",
        f"```sh\n{RESUME}\ncp runs/reproduction-paper/tables/*.parquet reproduction/tables/\nmake "
        "reproduction-docs\n```",
        "With Markov chains of the paper's lengths, from scratch after every answer: add "
        "`--inference chains --seeds 2`.",
        "The belief on grids whose terminal cells are drawn independently of the reward (at the end of claims.md):",
        "```sh\njourneyman sweep run reproduction/independent.toml\n"
        "journeyman sweep table reproduction/independent.toml --to reproduction/tables/independent.parquet "
        "--compact\n```",
        "Variational inference inside active learning (claim 8):",
        "```sh\njourneyman sweep run reproduction/variational.toml\n"
        "journeyman sweep table reproduction/variational.toml --to reproduction/tables/variational.parquet "
        "--compact\n```",
        "What is to blame where a posterior is wrong (also at the end; it runs what "
        "[replay.parquet](../../reproduction/replay.parquet) lacks):",
        "```sh\npython -m reproduction.replay\n```",
        "## Figures",
        *(f"![{name}]({FOLDER}/{name}.png)\n\n{caption}" for name, caption in captions.items()),
    ]
    return "\n\n".join(parts) + "\n", [table]


def _progress(sources: Sources) -> str:
    """Return how many seeds each experiment has, by kind of method."""
    rows = []
    for name, title in TITLES.items():
        if name not in sources.tables:
            rows.append([title, "-", "-", "-"])
            continue
        table, own = sources.tables[name], sources.paper_methods(name)
        others = [method for method in table["method"].unique() if method not in own]
        chains = sources.chains.get(name)
        rows.append(
            [
                title,
                _seeds(table, own),
                _seeds(table, others),
                "-" if chains is None else _seeds(chains, list(chains["method"].unique())),
            ]
        )
    return "Finished seeds per experiment, by method where they differ:\n\n" + markdown_table(
        ["experiment", "the paper's methods", "beyond it", f"Markov chains (`*{CHAINS}`)"], rows
    )


def _seeds(table: DataFrame, methods: Sequence[str]) -> str:
    if not methods:
        return "-"
    last = table.groupby(["method", "seed"], observed=True)["step"].max()
    found: dict[str, list[str]] = {}
    for method in methods:
        found.setdefault(_progress_text(last[method]), []).append(method)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{text}: {', '.join(names)}" for text, names in found.items())


def _progress_text(last: Series) -> str:
    """Return how many seeds of a method have how many steps, the most first."""
    counts = last.value_counts().sort_index(ascending=False)
    return ", ".join(
        f"{count} of {NUM_SEEDS}" + ("" if steps >= NUM_STEPS else f" with {steps} answers")
        for steps, count in counts.items()
    )
