"""Registry: what there is of one kind (inference methods, acquisition functions, worlds ...), by name.

Each kind has one registry, which code, command line, tests and docs go through. It begins with what the package brings
and is open to entries from outside, in two ways:

    register: in your program, before the name is used:   ACQUISITIONS.register("mine", Acquisition(...))
    entry points: in your package, found by itself:       [project.entry-points."journeyman.acquisitions"]
                                                          mine = "my_package:MINE"

Modules named in the environment variable JOURNEYMAN_PLUGINS (separated by commas) are imported before the first name is
looked up, so that a file of your own can register things for the command line and for the workers of a sweep.
"""

import os
import reprlib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from journeyman.checks import nearest
from journeyman.errors import InputError, UnknownNameError

T = TypeVar("T")
PLUGINS = "JOURNEYMAN_PLUGINS"
OUTSIDE = f"Names from outside need {PLUGINS} or an installed package."
_imported: set[str] = set()


class Registry(Mapping[str, T], Generic[T]):
    """Entries by name, in the order in which they came.

    Parameters
    ----------
    what
        One entry in words, with its article: "an acquisition function".
    group
        Name of the entry points that add to it, such as "journeyman.acquisitions".
    kind
        Class that an entry must be an instance of; `object` for any, `type` for classes.
    entries
        What the package brings.
    complaint_fn
        complaint_fn(entry) says what else is wrong with an entry from outside and how to fix it, as in "must have
        wheels, got none. Add some."; None if nothing is.
    """

    def __init__(
        self,
        what: str,
        group: str,
        kind: type[Any],
        entries: Mapping[str, T],
        complaint_fn: Callable[[Any], str | None] = lambda entry: None,
    ) -> None:
        self.what, self.group, self.kind, self.complaint_fn = what, group, kind, complaint_fn
        self._entries: dict[str, T] = dict(entries)
        self.builtin = frozenset(entries)  # names that the package brings
        self._outside: dict[str, EntryPoint] | None = None  # entry points by name; None while nobody has looked

    def register(self, name: str, entry: T, *, replace: bool = False) -> T:
        """Add an entry under a new name; with `replace`, take the place of one that came from outside before."""
        if not isinstance(name, str) or not name:
            raise InputError(f"{self.what} must have a name, got {name!r}. Give it a word.")
        if name in self.builtin or (name in self._entries and not replace and self._entries[name] is not entry):
            raise InputError(f"{self.what} must have a name of its own, got {name!r}, which exists. Choose another.")
        self._entries[name] = self._checked(name, entry)
        return entry

    def unregister(self, name: str) -> None:
        """Forget an entry that was registered from outside."""
        if name in self.builtin or name not in self._entries:
            raise InputError(f"only {self.what} that was registered can be removed, got {name!r}. Leave it.")
        del self._entries[name]

    def find(self, name: str) -> T:
        """Return an entry, or say which name may be meant, and which there are."""
        if isinstance(name, str) and name in self:
            return self[name]
        names, near = f"Choose from: {', '.join(self) or 'none'}.", nearest(name, self)
        hint = f"{near} {names}" if near else f"{names} {OUTSIDE}"
        message = f"{self.what} must be one that exists, got {reprlib.repr(name)}. {hint}"
        raise UnknownNameError(message, self.what, name) if isinstance(name, str) else InputError(message)

    def usable(self) -> Iterator[tuple[str, T]]:
        """Yield names and entries, without those from outside that cannot be loaded: nobody has asked for them."""
        for name in self:
            try:
                entry = self[name]
            except InputError:
                continue
            yield name, entry

    def __getitem__(self, name: str) -> T:
        if name not in self._entries and name in self._found():
            self._entries[name] = self._checked(name, _loaded(self._found()[name]))
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._found()

    def __iter__(self) -> Iterator[str]:
        found = self._found()
        return iter([*self._entries, *(name for name in found if name not in self._entries)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"Registry of {self.group.partition('.')[2]}: {', '.join(self)}"

    def _checked(self, name: str, entry: Any) -> T:
        got = type(entry).__name__
        if self.kind is type and not isinstance(entry, type):
            raise InputError(f"{self.what} must be a class, got an instance of {got} as {name!r}. Give {got} itself.")
        if not isinstance(entry, self.kind):
            raise InputError(f"{self.what} must be of type {self.kind.__name__}, got {got} as {name!r}. Make one.")
        complaint = self.complaint_fn(entry)
        if complaint is not None:
            raise InputError(f"{self.what} named {name!r} {complaint}")
        checked: T = entry
        return checked

    def _found(self) -> dict[str, EntryPoint]:
        """Return entry points from outside, having imported the modules that the environment names."""
        import_plugins()
        if self._outside is None:
            self._outside = {point.name: point for point in entry_points(group=self.group)}
        return self._outside


def _loaded(point: EntryPoint) -> Any:
    """Return what an entry point names; what its module raises on import is said, with the package that it is from."""
    try:
        return point.load()
    except Exception as error:  # the module is not ours, and may raise anything
        package = f"package {point.dist.name}" if point.dist is not None else "an installed package"
        raise InputError(
            f"entry point {point.name!r} of {point.group} must name what can be imported, got {point.value!r} from "
            f"{package}: {type(error).__name__}: {error}. Fix or uninstall that package."
        ) from error


def import_plugins() -> None:
    """Import the modules that JOURNEYMAN_PLUGINS names, each once."""
    for module in filter(None, (name.strip() for name in os.environ.get(PLUGINS, "").split(","))):
        if module in _imported:
            continue
        _imported.add(module)  # before it is imported: it looks into the registries itself
        try:
            import_module(module)
        except ModuleNotFoundError as error:
            missing = f" ({error})" if error.name is not None and not f"{module}.".startswith(f"{error.name}.") else ""
            raise InputError(
                f"{PLUGINS} must name modules that can be imported, got {module!r}{missing}. "
                "Check its name and PYTHONPATH."
            ) from None
        except Exception as error:  # the module is not ours, and may raise anything
            raise InputError(
                f"{PLUGINS} must name modules that can be imported, got {module!r}, which raises "
                f"{type(error).__name__}: {error}. Fix it, or leave it out."
            ) from error
