"""Commands that the README and docs/ show: what of them does not exist, or has a value that the program refuses.

Nothing is run. The program's own parser reads the words, and its own functions check the values that they understand.
"""

import re
import shlex

import typer
from docs.blocks import ROOT, blocks, without_blocks

from journeyman.acquisition.registry import check_acquisition_options
from journeyman.calibration import CalibrationSpec
from journeyman.checks import check_options, known_name, one_of
from journeyman.cli import options as opt
from journeyman.cli.app import app
from journeyman.cli.compare import check_by, parsed_changes, parsed_grid, test_numbers as numbers_to_test
from journeyman.cli.importing import parse_columns
from journeyman.cli.schemas import schema_of
from journeyman.cli.scores import ASKERS
from journeyman.cli.studio import check_can_serve
from journeyman.cli.study.exporting import KINDS
from journeyman.cli.study.pictures import FORMATS as PICTURES
from journeyman.cli.study.sharing import changed_settings
from journeyman.cli.sweep.results import check_table_options
from journeyman.criticism.variants import model_variants
from journeyman.demonstrations import ENDINGS
from journeyman.errors import InputError, JourneymanError
from journeyman.inference import INFERENCE
from journeyman.learner import LearnerSettings
from journeyman.logs import LEVELS
from journeyman.report.learning.figures import FIGURES
from journeyman.report.sweep.figure_data import estimates
from journeyman.storage.tables import separator_of
from journeyman.storage.workers import EXECUTORS
from journeyman.study.exports import EXPORTS, checked_ending
from journeyman.study.formats import ROLES, find_format
from journeyman.study.merging import PREFERENCES
from journeyman.worlds import WORLDS, make_world
from reproduction.run import Plan

COMMANDS = typer.main.get_command(app)
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "<", "(", ")"}  # of a command in a shell
SHELLS = ("sh", "bash", "console")
PLACEHOLDER = re.compile(r"(?:[\w.]+=)?(?:[A-Z]+|\.\.\.)")
SETTINGS = set(LearnerSettings.__dataclass_fields__)


def commands_of(page):
    """Yield (words after journeyman, whether it stands in a block) for every command of a page."""
    for block in blocks(page):
        if block.language in SHELLS:
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from ((words, True) for words in runs_in(line))
    for quoted in re.findall(r"`([^`]+)`", without_blocks((ROOT / page).read_text("utf-8"))):
        if re.search(r"\bjourneyman\s", quoted):
            yield from ((words, False) for words in runs_in(quoted))


def runs_in(line):
    """Yield the words after `journeyman` of each time that a line of a shell runs it."""
    lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    commands = [[]]
    for word in lexer:
        if word in ENDS:
            commands.append([])
        elif commands[-1] or not re.match(r"[A-Z_]+=", word):  # not a variable before the command
            commands[-1].append(word)
    for program, *words in filter(None, commands):
        if program.rpartition("/")[2] == "journeyman":
            yield words


def complaint(words, is_whole):
    """Say what is wrong with the words of a command: one that does not exist, an option, a value, too few words."""
    command, name, rest = COMMANDS, "journeyman", list(words)
    while True:
        context = command.context_class(command, info_name=name)
        try:
            given, rest, _ = command.make_parser(context).parse_args(rest)
            check_values(name, values_of(command, context, given))
        except Exception as error:  # the parser of typer's own click: each of its errors is a wrong word
            if isinstance(error, JourneymanError) or type(error).__module__.startswith("typer."):
                return f"{name}: {error}"
            raise
        if not hasattr(command, "commands"):
            break
        if not rest:
            return None if not is_whole or given or command.invoke_without_command else f"{name} needs a command"
        if rest[0] not in command.commands:
            return None if rest[0] == "..." else f"{name} has no command {rest[0]}"
        name = f"{name} {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
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


def values_of(command, context, given):
    """Return what the words of a command give by the names of its parameters, as the program gets it."""
    values = {}
    for parameter in command.params:
        raw = given.get(parameter.name)
        if isinstance(raw, list | tuple):
            raw = [word for word in raw if isinstance(word, str) and not PLACEHOLDER.fullmatch(word)]
        if raw and isinstance(raw, str | list) and not (isinstance(raw, str) and PLACEHOLDER.fullmatch(raw)):
            values[parameter.name] = parameter.process_value(context, raw)
    if values.get("name") and command.params[0].metavar == "WORLD":
        values["world"] = values.pop("name")
    return values


def check_values(name, given):
    """Raise what the program says of the values of a command, as far as they can be checked without running it."""
    command = name.removeprefix("journeyman ")
    if command == "reproduce":
        Plan(
            given.get("part", "all"), None, given.get("scale", "quick"), given.get("inference", "smc"), None,
            (given.get("picture", "png"),),
        )  # fmt: skip
    else:
        check_learner(given)
    if command in OF_COMMANDS:
        OF_COMMANDS[command](given)
    for parameter, check_fn in OF_PARAMETERS.items():
        if parameter in given:
            check_fn(given[parameter])


def check_learner(given):
    """Check the world, and whatever is a setting of a learner, whichever command it stands in."""
    name = given.get("world", "jail")
    if not name.startswith("gym:"):
        WORLDS.find(name)
    opt.parse_options(name, given.get("world_set"))
    world = make_world(name if name in WORLDS else "jail")
    chosen = {key: value for key, value in given.items() if key in SETTINGS}
    kind = chosen.setdefault("kind", "trajectory" if "length" in given else "state")
    LearnerSettings.for_problem(
        world.problem,
        **chosen
        | {
            "length": opt.trajectory_length(world, kind, given.get("length")),
            "candidates": opt.parse_candidates(given.get("candidates"), world.problem),
            "inference_options": opt.parse_settings(given.get("inference_set")),
            "acquisition_options": opt.parse_scoring_options(given.get("acquisition_set")),
        },
    )
    if "acquisition" in given:
        check_acquisition_options(given["acquisition"], opt.parse_scoring_options(given.get("acquisition_set")))


def check_comparison(given):
    """Check what models are made of, and what they are compared on."""
    model_variants(
        make_world("jail").problem,
        parsed_grid(given.get("vary")),
        [parsed_changes(text) for text in given.get("also", ())],
    )
    numbers_to_test(given.get("test", "every-fifth"), 100)
    check_by(given.get("by", "annotator"), {})


def check_set(given):
    """Check settings that are changed in place: those of a study with any of the methods."""
    changes = {
        key: None if value == "default" else value for key, value in opt.parse_settings(given.get("pairs")).items()
    }
    faults = []
    for method in INFERENCE:
        try:
            LearnerSettings(inference=method).with_computing(changes)
            return
        except InputError as error:
            faults.append(error)
    raise faults[0]


def check_clone(given):
    """Check settings of a copy."""
    settings = LearnerSettings()
    LearnerSettings.from_record(settings.to_record() | changed_settings(settings, given.get("pairs")))


def check_export(given):
    """Check what is exported, and the ending of its file."""
    what = one_of(given.get("what", KINDS[0]), KINDS, "what")
    if "to" in given and what != KINDS[0]:
        checked_ending(given["to"], EXPORTS[what], what)
    elif "to" in given:
        find_format(given.get("format"), given["to"])


def check_plot(given):
    """Check the names of figures, and their format."""
    for what in given.get("what", ()):
        one_of(what, FIGURES, "--what")
    one_of(given.get("format", PICTURES[0]), PICTURES, "--format")


def check_import(given):
    """Check the format of what is read."""
    if "source" in given or "format" in given:
        find_format(given.get("format"), given.get("source", ""))


OF_COMMANDS = {
    "calibrate": lambda given: CalibrationSpec(
        world=given.get("world", "jail"), num_demonstrations=given.get("demonstrations", 20)
    ),
    "compare": check_comparison,
    "schema": lambda given: schema_of(" ".join(given["command"])) if "command" in given else None,
    "study set": check_set,
    "study clone": check_clone,
    "study export": check_export,
    "study import": check_import,
    "study plot": check_plot,
    "sweep table": lambda given: check_table_options(given.get("to"), False, given.get("step")),
}
OF_PARAMETERS = {
    "ask": lambda how: one_of(how, ASKERS, "ask"),
    "columns": lambda texts: check_options(parse_columns(texts), ROLES, "--columns"),
    "ended": lambda how: one_of(how, ENDINGS, "--ended"),
    "entropy": estimates,
    "executor": lambda name: one_of(name, EXECUTORS, "--executor"),
    "log_level": lambda level: known_name(level, LEVELS, "--log-level"),
    "png": opt.check_picture,
    "port": lambda port: check_can_serve("localhost", port, None, allow_remote=False),
    "prefer": lambda whose: one_of(whose, PREFERENCES, "--prefer"),
    "separator": separator_of,
}
