"""The table of docs/experts.md is read as it stands there."""

from docs.blocks import blocks

from journeyman.experts import Boltzmann
from journeyman.problem_files import load_problem, write_example


def test_the_table_of_the_page_is_read(tmp_path):
    (file,) = [path for path in write_example(tmp_path) if path.name == "problem.toml"]
    text = file.read_text("utf-8")
    (table,) = blocks("docs/experts.md", "toml")
    before, _, after = text.partition("[expert]")
    rest = after.partition("\n[")
    file.write_text(before + table.text + rest[1] + rest[2], "utf-8")
    expert = load_problem(file).expert
    assert isinstance(expert, Boltzmann) and set(expert.priors) == {"beta", "lapse"}
    assert expert.values == "soft" and expert.annotators == ("anna", "ben")
