"""Options that several commands take, and KEY=VALUE texts as values."""

import json
from typing import Annotated, Any

import typer

from journeyman.errors import InputError

WorldOptions = Annotated[
    list[str] | None,
    typer.Option("--world-set", metavar="KEY=VALUE", help="Option of the world, such as beta=2; can be repeated."),
]
InferenceOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--inference-set",
        metavar="KEY=VALUE",
        help="Option of the inference method, such as num_particles=500; can be repeated.",
    ),
]
AcquisitionOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--acquisition-set",
        metavar="KEY=VALUE",
        help="Option of the acquisition function, such as edges=0,1; can be repeated.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads; default: all cores.")]


def parse_options(name: str, pairs: list[str]) -> dict[str, Any]:
    """Return KEY=VALUE texts as options of world `name`, each of the type of its default."""
    from journeyman.report.world.listing import world_options
    from journeyman.worlds import make_world

    if not pairs:
        return {}
    make_world(name)  # says what is wrong with the name
    defaults = world_options(name)
    options: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator:
            raise InputError(f"an option must be written as KEY=VALUE, got {pair!r}. Example: --world-set beta=2")
        if key not in defaults:
            raise InputError(f"world {name!r} must get options it knows, got {key!r}. It has: {', '.join(defaults)}.")
        if key in options:
            raise InputError(f"option {key} must be given once, got it twice. Remove one of them.")
        options[key] = parse_value(key, text, type(defaults[key]))
    return options


WORDS_OF_TYPE = {int: "a whole number", float: "a number", str: "a word"}


def parse_value(key: str, text: str, kind: type) -> Any:
    """Return the text of an option as a value of its type."""
    try:
        return kind(text)
    except ValueError:
        raise InputError(
            f"option {key} must be {WORDS_OF_TYPE[kind]}, got {text!r}. Example: --world-set {key}=2"
        ) from None


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Return KEY=VALUE texts as options of a method: numbers, true or false where they read like it, else words."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator:
            raise InputError(
                f"a setting must be written as KEY=VALUE, got {pair!r}. Example: --inference-set num_particles=500"
            )
        if key in settings:
            raise InputError(f"setting {key} must be given once, got it twice. Remove one of them.")
        try:
            value = json.loads(text.lower() if text in ("True", "False") else text)
        except ValueError:
            value = text
        settings[key] = value if isinstance(value, bool | int | float) else text
    return settings


def parse_scoring_options(pairs: list[str]) -> dict[str, Any]:
    """Return KEY=VALUE texts as options of a function: as `parse_settings`, and lists of numbers, and none."""
    parsed: dict[str, Any] = {}
    for key, value in parse_settings(pairs).items():
        parsed[key] = value
        if value == "none":
            parsed[key] = None
        elif key == "edges":
            try:
                parsed[key] = tuple(float(part) for part in str(value).split(","))
            except ValueError:
                raise InputError(f"edges must be numbers between commas, got {value!r}. Example: edges=0,1") from None
    return parsed
