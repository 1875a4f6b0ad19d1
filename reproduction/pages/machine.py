"""Where the results were computed: kept beside the tables, because pages may be made on another machine."""

import json
from pathlib import Path

from reproduction.pages.numbers import markdown_table
from reproduction.timing_table import Machine, this_machine

FILE = "machine.json"


def machine_of(tables: Path) -> Machine:
    """Return where the tables were made; if that is not known, this machine is written down as the one."""
    path = tables / FILE
    if not path.exists():
        record = this_machine()._asdict()
        path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    found = json.loads(path.read_text("utf-8"))
    return Machine(**found | {"versions": tuple(map(tuple, found["versions"]))})


def machine_words(machine: Machine) -> str:
    """Return a machine as a small table."""
    rows = [["processor", machine.processor], ["logical processors", str(machine.num_cpus)], ["system", machine.system]]
    return markdown_table(["", ""], [*rows, *(list(pair) for pair in machine.versions)])
