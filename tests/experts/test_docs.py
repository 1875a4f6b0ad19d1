"""docs/experts.md shows what happens."""

import contextlib
import io
import re
from pathlib import Path

from journeyman.experts import Boltzmann
from journeyman.problem_files import load_problem, write_example

PAGE = (Path(__file__).parents[2] / "docs" / "experts.md").read_text("utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_prints_what_it_shows():
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile("\n".join(blocks("python")), "docs/experts.md", "exec"), {"__name__": "page"})
    assert output.getvalue() == "".join(blocks("text"))


def test_the_table_of_the_page_is_read(tmp_path):
    (file,) = [path for path in write_example(tmp_path) if path.name == "problem.toml"]
    text = file.read_text("utf-8")
    (table,) = blocks("toml")
    before, _, after = text.partition("[expert]")
    rest = after.partition("\n[")
    file.write_text(before + table + rest[1] + rest[2], "utf-8")
    expert = load_problem(file).expert
    assert isinstance(expert, Boltzmann) and set(expert.priors) == {"beta", "lapse"}
    assert expert.values == "soft" and expert.annotators == ("anna", "ben")
