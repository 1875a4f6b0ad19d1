"""The page of claims: a summary, then each claim with its parts, numbers and verdict."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pandas import DataFrame

from reproduction.pages.belief_check import belief_quantities, belief_section
from reproduction.pages.claim import HISTORY, RULE, Claim, Part, parts_table, verdict_of
from reproduction.pages.comparing import RULES
from reproduction.pages.numbers import NumberTable, markdown_table
from reproduction.pages.reasons import reason
from reproduction.pages.replay_check import replay_quantities, replay_section
from reproduction.pages.sources import NUM_SEEDS, NUM_STEPS, RESUME, Sources

Section = tuple[str, tuple[NumberTable, ...]]
HEAD = f"""# Claims of the paper, and what we measured

*Made by `make reproduction-docs` from the results in [tables/](../../reproduction/tables); do not edit. Every number
on this page is in a file in [numbers/](numbers), which the tables name; those in running text are in
[verdicts.csv](numbers/verdicts.csv) and [quantities.csv](numbers/quantities.csv).*

"PAC Apprenticeship Learning with Bayesian Active IRL" makes these claims about its experiments and examples. Each was
tested anew with its settings, where it gives them: {NUM_SEEDS} instances, {NUM_STEPS} answers; with our `smc` in place
of its sampler (compared [below](#the-inference)). Certificates in these runs follow the rule of release 0.1.0; [what
the present rule makes of it](#certificates).

{RULE} {HISTORY}

{RULES}

Entropy is in nats, from the evidence (the paper's estimates are [biased](../entropy-bias.md) by more than methods
differ). Regret in comparisons is the true regret, normalised per instance as in the paper: divided by its mean over the
paper's methods and the first 32 steps. P[regret > 0.1] is the posterior's ([how it compares with the
truth](#belief-and-truth)). An instance counts where all methods that are compared have finished.
"""


class Named(NamedTuple):
    """A number that reasons may use, and the files that it comes from."""

    value: float
    files: str


def claims_page(claims: Sequence[Claim], sections: Mapping[str, Section], named: Mapping[str, Named]) -> str:
    """Return the page as Markdown: the claims, and further sections by their titles."""
    numbers = {name: item.value for name, item in named.items()}
    parts = [HEAD, _unfinished(claims), _summary(claims), *(_section(claim, numbers) for claim in claims)]
    for title, (text, tables) in sections.items():
        if text:
            parts += [f"## {title}", text, *(table.markdown() for table in tables)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _unfinished(claims: Sequence[Claim]) -> str:
    if all(claim.is_complete for claim in claims):
        return ""
    return (
        f"**Not all of the {NUM_SEEDS} seeds are finished.** The column *seeds* says how many are, for all methods "
        "that a claim "
        f"compares. This continues from the committed tables:\n\n```sh\n{RESUME}\n```"
    )


def _summary(claims: Sequence[Claim]) -> str:
    rows = [
        [
            str(claim.number),
            f"[{claim.title}](#{anchor(claim)})",
            claim.verdict_words,
            _count(claim),
            claim.seeds_words,
        ]
        for claim in claims
    ]
    return "## Summary\n\n" + markdown_table(["", "claim", "verdict", "parts that hold", "seeds"], rows)


def _count(claim: Claim) -> str:
    holding = sum(part.outcome == "holds" for part in claim.parts)
    return f"{holding} of {len(claim.parts)}"


def heading(claim: Claim) -> str:
    """Return the heading of a claim."""
    return f"{claim.number}. {claim.title}"


def anchor(claim: Claim) -> str:
    """Return where a claim stands on the page: its heading as Markdown makes it a link."""
    kept = [letter for letter in heading(claim).lower() if letter.isalnum() or letter in " -_"]
    return "".join(kept).replace(" ", "-")


def _section(claim: Claim, quantities: Mapping[str, float]) -> str:
    seeds = "" if not claim.seeds else f" ({claim.seeds_words} seeds)"
    parts = [
        f"## {heading(claim)}",
        f"Verdict: {claim.verdict_words}{seeds}." + (f" {claim.caveat}" if claim.caveat else ""),
        f"*The paper:* {claim.paper}",
        parts_table(claim.parts),
        _printed(claim),
        _reason(claim, quantities),
        *(table.markdown() for table in claim.tables),
        *claim.notes,
    ]
    return "\n\n".join(part for part in parts if part)


def _printed(claim: Claim) -> str:
    if claim.printed is None:
        return ""
    form, parts, extent = claim.printed
    return f"The same with {form}, averages over as many answers as there are ({extent}):\n\n{parts_table(parts)}"


def _reason(claim: Claim, quantities: Mapping[str, float]) -> str:
    found = reason(claim.number, quantities)
    if claim.verdict == "open" or (claim.verdict in ("reproduced", "consistent") and found is None):
        return ""
    return f"*Why:* {found or 'not known yet.'}"


def verdict_table(claims: Sequence[Claim]) -> NumberTable:
    """Return all parts of all claims, for the file."""
    rows = [
        {"claim": claim.number, "title": claim.title, "form": form, "verdict": verdict, **part._asdict()}
        for claim in claims
        for form, verdict, parts in _judged(claim)
        for part in parts
    ]
    return NumberTable("verdicts", "All parts of all claims", DataFrame(rows), {})


def _judged(claim: Claim) -> list[tuple[str, str, tuple[Part, ...]]]:
    found = [(claim.form, claim.verdict, claim.parts)]
    if claim.printed is not None:
        found.append((claim.printed.form, verdict_of(claim.printed.parts), claim.printed.parts))
    return found


def named_numbers(sources: Sources, claims: Sequence[Claim]) -> dict[str, Named]:
    """Return the numbers that a reason may use: those that any claim names, and those of belief and replay."""
    belief, replay = belief_section(sources)[1], replay_section(sources)[1]
    groups = [(claim.quantities, claim.tables) for claim in claims]
    groups += [(belief_quantities(belief), belief), (replay_quantities(sources), replay)]
    return {
        name: Named(float(value), " ".join(table.file for table in tables))
        for quantities, tables in groups
        for name, value in quantities.items()
    }


def quantity_table(named: Mapping[str, Named]) -> NumberTable:
    """Return all named numbers with the tables that they come from, for the file."""
    rows = [(name, *item) for name, item in named.items()]
    return NumberTable("quantities", "Named numbers", DataFrame(rows, columns=["name", "value", "tables"]), {})
