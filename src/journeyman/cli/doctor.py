"""`journeyman doctor`: whether this machine, this installation and a study are in order."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from journeyman.cli import options as opt

if TYPE_CHECKING:
    from rich.console import Console

    from journeyman.doctor import Finding

MARKS = {"good": ("ok", "green"), "notable": ("note", "yellow"), "bad": ("BAD", "bold red")}


def doctor(
    study: Annotated[
        Path | None, typer.Argument(metavar="[STUDY]", help="A study to look at as well; it is not changed.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Skip the comparison of compiled code with NumPy.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Say whether this machine, this installation and a study are in order.

    Prints versions, optional packages, cores and memory that may be used, and where compiled code is kept. Then
    compiled code is compared with plain NumPy on small problems, and a study, if you name one, is read from end to end:
    its pages, its checksums, which version wrote it, what lies beside it.

    Examples: [bold]journeyman doctor[/]; [bold]journeyman doctor my.study[/]; to attach to a bug report:
    [bold]journeyman doctor --json > doctor.json[/]. Exit code 1 if something is bad.
    """
    from journeyman.doctor import examine_kernels, examine_machine, examine_study

    found = examine_machine()
    if not quick:
        found += examine_kernels()
    if study is not None:
        found += examine_study(study)
    is_well = all(finding.state != "bad" for finding in found)
    record = {"is_well": is_well, "findings": [finding.to_record() for finding in found]}
    opt.show(as_json, lambda: record, lambda console: print_findings(console, found))
    if not is_well:
        raise typer.Exit(1)


def print_findings(console: "Console", found: "list[Finding]") -> None:
    """Print what was found, part by part, and at the end what to do."""
    from rich.text import Text

    from journeyman.report.terminal import text_table

    table = text_table(("", "", "", ""))
    table.show_header, table.columns[2].no_wrap = False, True
    part = ""
    for finding in found:
        mark, style = MARKS[finding.state]
        shown, part = ("" if finding.part == part else finding.part), finding.part
        table.add_row(Text(shown, "bold"), Text(mark, style), Text(finding.name), Text(finding.words))
    console.print(table)
    for finding in found:
        if finding.advice:
            console.print(Text.assemble((f"{finding.part}, {finding.name}: ", "bold"), finding.advice), soft_wrap=True)
    num_bad = sum(finding.state == "bad" for finding in found)
    last = f"{num_bad} of {len(found)} are bad." if num_bad else f"All is well: {len(found)} things were looked at."
    console.print(Text(last, "bold red" if num_bad else "bold green"))
