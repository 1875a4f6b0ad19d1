"""What the README and docs/ show is what happens: their Python runs and prints that, their commands exist."""

import re
import shlex

import pytest
import typer
from docs.blocks import ROOT, blocks, is_shown, pages, run_page
from typer.testing import CliRunner

from journeyman.acquisition import ACQUISITIONS
from journeyman.cli.app import app
from journeyman.inference import INFERENCE
from journeyman.worlds import WORLDS

PYTHON = [page for page in pages() if blocks(page, "python")]
SLOW = [page for page in PYTHON if any(block.mark == "slow" for block in blocks(page))]
NAMED = {"WORLD": WORLDS, "--world": WORLDS, "--acquisition": ACQUISITIONS, "--inference": INFERENCE}
LANGUAGES = ("bash", "console", "csv", "dockerfile", "jsonl", "python", "sh", "text", "toml")
COMMANDS = typer.main.get_command(app)
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "(", ")"}  # of a command in a shell


def check_readme(names, printed):
    (block,) = blocks("README.md", "python")
    *asked, last = printed.splitlines()
    assert block.text.rstrip().endswith(f"# {last}, after two answers") and len(asked) == 2


def check_sweep(names, printed):
    assert set(names["means"]["method"]) == {"random", "nuPAC-EIG"}
    assert names["gains"]["n"].max() == 3


def check_gymnasium(names, printed):
    assert "state 35" in printed


def check_continuous(names, printed):
    lines = printed.splitlines()
    assert lines[0].startswith("regrets are off by up to about") and lines[1] == "2 answers"
    assert lines[2] in ("left", "coast", "right") and float(lines[3]) < -90.0


ALSO = {
    "README.md": check_readme,
    "docs/sweep.md": check_sweep,
    "docs/gymnasium.md": check_gymnasium,
    "docs/continuous.md": check_continuous,
}


def test_there_are_pages():
    assert {"docs/extending.md", *ALSO} <= set(PYTHON)


@pytest.mark.parametrize("page", pages())
def test_every_block_is_one_that_is_tested(page):
    assert list(unread_fences((ROOT / page).read_text("utf-8"))) == []


def unread_fences(text):
    """Yield the beginnings of blocks that no test would read: of another language or form than those that are known."""
    is_inside = False
    for line in text.splitlines():
        if not re.match(r"\s*(?:```|~~~)", line):
            continue
        is_inside = not is_inside
        shown = re.fullmatch(r"```(?:(\w+)(?: \S+)?|\{(?!code-block)[\w-]+\}.*)", line)
        if is_inside and not (shown and shown[1] in (None, *LANGUAGES)) and line.strip() != "```toml":
            yield line


@pytest.mark.parametrize("line", ["```", "```py", "~~~python", "````python", "  ```python", "```{code-block} python"])
def test_blocks_that_no_test_reads_are_found(line):
    assert list(unread_fences(f"```sh\nls\n```\n{line}\n{line.strip()[:3]}\n")) == [line]


@pytest.mark.parametrize("page", PYTHON)
def test_python_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_page(page, tmp_path)
    if page in ALSO:
        ALSO[page](*found)


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW)
def test_slow_python_runs_too(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path, is_slow=True)


@pytest.mark.parametrize("page", [page for page in pages() if blocks(page, "console")])
def test_console_shows_what_the_command_prints(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for block in blocks(page, "console"):
        command, _, shown = block.text.partition("\n")
        assert command.startswith("$ journeyman "), f"{page}:{block.line}"
        result = CliRunner().invoke(app, shlex.split(command)[2:])
        assert result.exit_code == 0
        assert is_shown(result.stdout, shown), f"{page}:{block.line}\n{result.stdout}"


def commands_of(page):
    """Yield (words after journeyman, whether it stands in a block) for every command of a page."""
    for block in blocks(page):
        if block.language in ("sh", "bash", "console"):
            for line in block.text.replace("\\\n", " ").splitlines():
                if words := words_of(line.removeprefix("$ ")):
                    yield words, True
    text = (ROOT / page).read_text("utf-8")
    for quoted in re.findall(
        r"`(journeyman [^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    ):
        yield words_of(quoted), False


def words_of(line):
    """Return the words after `journeyman` in a line of a shell, up to a pipe or the like; none if it runs another."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    while words and re.match(r"[A-Z_]+=", words[0]):
        words.pop(0)
    if not words or words[0].rpartition("/")[2] != "journeyman":
        return []
    end = next((index for index, word in enumerate(words) if word in ENDS), len(words))
    return words[1:end]


def complaint(words, is_whole):
    """Say what is wrong with the words of a command: one that does not exist, a wrong option, a missing argument."""
    command, name, rest = COMMANDS, "journeyman", list(words)
    while True:
        context = command.context_class(command, info_name=name)
        try:
            given, rest, _ = command.make_parser(context).parse_args(rest)
        except Exception as error:  # the parser of typer's own click: each of its errors is a wrong word
            return f"{name}: {error}"
        if not hasattr(command, "commands"):
            break
        if not rest:
            return None if not is_whole or given or command.invoke_without_command else f"{name} needs a command"
        if rest[0] not in command.commands:
            return None if rest[0] == "..." else f"{name} has no command {rest[0]}"
        name = f"{name} {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    if unknown := [word for word, entries in names_given(command, given) if word not in entries]:
        return f"{name}: there is no {unknown}"
    if "help" in given or not is_whole:
        return None
    missing = [
        parameter.metavar
        for parameter in command.params
        if parameter.param_type_name == "argument"
        and parameter.required
        and not isinstance(given[parameter.name], str | tuple)
    ]
    return f"{name} lacks {', '.join(missing)}" if missing else f"{name} does not take {rest}" if rest else None


def names_given(command, given):
    """Yield the worlds and functions that a command is given by name, and the registry that each has to be in."""
    for parameter in command.params:
        entries = next((NAMED[word] for word in (parameter.metavar, *parameter.opts) if word in NAMED), None)
        words = given.get(parameter.name)
        if entries is None or command.name == "reproduce":  # its methods are those of its tables
            continue
        for word in words if isinstance(words, list | tuple) else [words]:
            is_placeholder = not isinstance(word, str) or word.isupper() or word.startswith(("gym:", "...", "my"))
            if not is_placeholder:
                yield word, entries


@pytest.mark.parametrize("page", [page for page in pages() if any(commands_of(page))])
def test_commands_and_their_options_exist(page):
    found = [(words, complaint(words, is_whole)) for words, is_whole in commands_of(page)]
    assert [(words, fault) for words, fault in found if fault] == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("journeyman stduy ask x.study", "journeyman has no command stduy"),
        ("journeyman study ask x.study --jsno", "jsno"),
        ("journeyman study ask", "lacks"),
        ("journeyman study ask x.study y", "does not take"),
        ("journeyman study", "needs a command"),
        ("journeyman worlds show jial", "no ['jial']"),
        ("journeyman scores jail --acquisition nope", "no ['nope']"),
        ("JOURNEYMAN_PLUGINS=mine .venv/bin/journeyman worlds --json | head", None),
    ],
)
def test_wrong_commands_are_found(line, fault):
    found = complaint(words_of(line), is_whole=True)
    assert found is None if fault is None else fault in found


@pytest.mark.parametrize("page", pages())
def test_programs_and_targets_exist(page):
    assert list(missing_programs((ROOT / page).read_text("utf-8"))) == []


def missing_programs(text):
    """Yield the programs of the repository and the targets of make that a page names and that are not there."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for program in re.findall(r"\bpython ((?:bench|docs|examples|reproduction|tests)/[\w/.-]+\.py)", text):
        if not (ROOT / program).exists():
            yield program
    for target in re.findall(r"(?:^|`)make ([a-z][\w-]*)", text, re.MULTILINE):
        if target not in targets:
            yield target


def test_missing_programs_are_found():
    text = "`make nope` and `make test`\n```sh\npython bench/nope.py\nmake docs\npython bench/step.py\n```\n"
    assert list(missing_programs(text)) == ["bench/nope.py", "nope"]
