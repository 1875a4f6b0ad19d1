"""Make claims.md, which-function.md, README.md, numbers and figures of docs/reproduction from the committed tables.

python -m reproduction.build                       # everything, from reproduction/tables
python -m reproduction.build --tables DIR --out DIR # other tables, another place
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from journeyman.errors import InputError
from reproduction.pages.advice import all_choices
from reproduction.pages.advice_page import advice_page
from reproduction.pages.belief_check import belief_section
from reproduction.pages.certificate_check import certificate_section
from reproduction.pages.claim import Claim
from reproduction.pages.claims_appendix import Finer, entropy_claim, finer_claim, finer_scores
from reproduction.pages.claims_calibration import calibration_claim
from reproduction.pages.claims_cost import cost_claim
from reproduction.pages.claims_forms import forms_claim
from reproduction.pages.claims_goals import objectives_claim, stalling_claim
from reproduction.pages.claims_jail import jail_claim
from reproduction.pages.claims_page import claims_page, named_numbers, quantity_table, verdict_table
from reproduction.pages.claims_theory import bounds_claim, failure_modes_claim, start_claim
from reproduction.pages.claims_two_starts import two_starts_claim
from reproduction.pages.claims_uniform import annotations_claim, trajectories_claim
from reproduction.pages.figures import FOLDER, Picture, pictures, save
from reproduction.pages.inference_check import inference_section
from reproduction.pages.machine import machine_of
from reproduction.pages.numbers import FOLDER as NUMBERS
from reproduction.pages.readme_page import readme_page
from reproduction.pages.replay_check import replay_section
from reproduction.pages.sources import NUM_SEEDS, Sources, load_sources
from reproduction.pages.starts import START_CAPTION, Starts, beliefs, start_picture

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
TABLES = HERE / "tables"


def main() -> None:
    """Make all pages, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, default=TABLES, help="folder of the tables")
    parser.add_argument("--out", type=Path, default=DOCS / "reproduction", help="folder for pages, numbers and figures")
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help="beliefs of figure 1 (default: %(default)s)")
    parser.add_argument("--no-figures", action="store_true", help="leave the figures as they are")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    has_figures = not arguments.no_figures
    try:
        if arguments.seeds < 1:
            raise InputError(f"--seeds must be at least 1, got {arguments.seeds}. The default is {NUM_SEEDS}.")
        written = build(arguments.tables, arguments.out, num_starts=arguments.seeds, has_figures=has_figures)
    except InputError as error:
        raise SystemExit(f"Error: {error}") from None
    for path in written:
        print(path)
    print(f"{time.perf_counter() - begin:.0f} s")


def build(tables: Path, out: Path, *, num_starts: int = NUM_SEEDS, has_figures: bool = True) -> list[Path]:
    """Write everything; files of an earlier build that are not made any more are removed.

    Parameters
    ----------
    num_starts
        Instances for figure 1, which takes a second each.
    has_figures
        Whether to draw anew; without it, figures stay as they are.
    """
    sources = all_sources(tables)
    starts = beliefs(num_starts)
    claims = all_claims(sources, starts, finer_scores())
    sections = {
        "The inference": inference_section(sources),
        "Belief and truth": belief_section(sources),
        "Certificates": certificate_section(sources),
        "What is to blame": replay_section(sources),
    }
    named = named_numbers(sources, claims)
    section_tables = [table for _, tables in sections.values() for table in tables]
    advice, advice_tables = advice_page(sources, all_choices(sources))
    drawn = all_pictures(sources, lambda: starts)
    captions = {picture.name: picture.caption for picture in drawn}
    written = []
    for picture in drawn:
        written.append(out / FOLDER / f"{picture.name}.png")
        if has_figures:
            save(picture.draw(), written[-1])
    readme, readme_tables = readme_page(sources, claims, captions, machine_of(tables))
    shown = [table for claim in claims for table in claim.tables]
    files = {table.name: table for table in [*shown, *section_tables, *advice_tables, *readme_tables]}
    for table in [*files.values(), verdict_table(claims), quantity_table(named)]:
        written.append(table.write(out))
    pages = {"claims.md": claims_page(claims, sections, named), "which-function.md": advice, "README.md": readme}
    for name, text in pages.items():
        (out / name).write_text(text, "utf-8")
        written.append(out / name)
    _remove_others(out, written, (FOLDER, NUMBERS) if has_figures else (NUMBERS,))
    return written


def all_sources(tables: Path = TABLES) -> Sources:
    """Return all that pages and figures are made from."""
    answers = HERE.parent / "bench" / "answers.jsonl"
    return load_sources(tables, DOCS / "calibration" / "table.json", HERE / "replay.parquet", answers)


def all_pictures(sources: Sources, starts_fn: Callable[[], Starts] = lambda: beliefs(1)) -> list[Picture]:
    """Return all figures, in the order of the page; `starts_fn` is called when the first is drawn."""
    return [Picture("figure-1", START_CAPTION, lambda: start_picture(starts_fn())), *pictures(sources)]


def all_claims(sources: Sources, starts: Starts, finer: Sequence[Finer]) -> list[Claim]:
    """Return the claims."""
    return [
        jail_claim(sources),
        two_starts_claim(sources),
        annotations_claim(sources),
        trajectories_claim(sources),
        objectives_claim(sources),
        stalling_claim(sources),
        cost_claim(sources),
        calibration_claim(sources),
        forms_claim(sources),
        failure_modes_claim(),
        start_claim(starts.before, starts.after),
        bounds_claim(sources),
        entropy_claim(sources),
        finer_claim(finer),
    ]


def _remove_others(out: Path, written: list[Path], folders: Sequence[str]) -> None:
    for folder in folders:
        for path in [*(out / folder).glob("*.png"), *(out / folder).glob("*.csv")]:
            if path not in written:
                path.unlink()


if __name__ == "__main__":
    main()
