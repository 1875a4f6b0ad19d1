"""Where an expert sits: a terminal that is drawn anew for every question, or lines that go in and out of a pipe.

Both show a screen and read what the person wants: one key, or one line. What a key means is in `Choices`.

Keys are read with what Python brings for each system. Libraries for that (readchar 4.2) let the terminal echo what is
pressed while a question is being chosen, and lose the rest of an arrow key that arrives in parts over a slow line.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from select import select
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console, Group
from rich.text import Text

from journeyman.errors import InputError

termios: ModuleType | None = None
msvcrt: Any = None
with suppress(ImportError):
    import termios
with suppress(ImportError):
    import msvcrt

if TYPE_CHECKING:
    from journeyman.mdp import FiniteMDP

ARROWS = {(-1, 0): "↑", (1, 0): "↓", (0, -1): "←", (0, 1): "→"}
COMMANDS = {
    "u": "undo", "s": "skip", "x": "cannot", "e": "end", "q": "quit", "?": "help", ":": "name", "h": "help"
}  # fmt: skip
LETTERS = "abcdfgijklmnoprtvwyz"  # those that are no commands
TERMINAL_ARROWS = {b"A": "↑", b"B": "↓", b"C": "→", b"D": "←"}
WINDOWS_ARROWS = {"H": "↑", "P": "↓", "M": "→", "K": "←"}
END_OF_INPUT, ESCAPE_SECONDS = "\x04", 0.1  # Ctrl-D; what belongs to one key arrives within that time
MAX_DIGITS = 10
LINES_OF_A_PAGE = 40  # for pictures in a pipe, where nothing is too high

DrawFn = Callable[[int, int], Sequence[Text]]  # lines of a screen of some width and height


@dataclass(frozen=True)
class Choices:
    """What can be chosen now: a key and a name for each option.

    keys: what may be pressed for it; shown: the best of these; names: what may be typed.
    """

    keys: dict[str, int]
    shown: dict[int, str]
    names: dict[str, int]

    @classmethod
    def of_actions(cls, mdp: "FiniteMDP", state: int, *, has_arrows: bool) -> "Choices":
        """Return a key for each action that is available in a state.

        Its number where that is one digit, so that it means what it means everywhere; else a letter. Arrow keys too,
        where an action moves one cell on a grid.
        """
        available = [action for action in range(mdp.num_actions) if mdp.available[state, action]]
        if mdp.num_actions <= MAX_DIGITS and not mdp.action_names.are_numbers:
            shown = {action: str(action) for action in available}
        else:
            shown = dict(zip(available, LETTERS, strict=False))
        keys = {key: action for action, key in shown.items()}
        if mdp.grid is not None and mdp.grid.moves is not None:
            moves = [tuple(move) for move in mdp.grid.moves.tolist()]
            for move, arrow in ARROWS.items():
                fitting = [action for action in available if moves[action] == move]
                if len(fitting) == 1:
                    keys[arrow] = fitting[0]
                    if has_arrows:
                        shown[fitting[0]] = arrow
        return cls(keys, shown, {mdp.action_name(action): action for action in available})

    @classmethod
    def of_words(cls, words: Sequence[str]) -> "Choices":
        """Return a number, from 1, or a letter as key for each of some words."""
        marks = ([str(number) for number in range(1, 10)] + list(LETTERS))[: len(words)]
        shown = dict(enumerate(marks))
        return cls({key: index for index, key in shown.items()}, shown, {word: i for i, word in enumerate(words)})


class Keys:
    """The keys of a terminal, one at a time and without echo, from `open` to `close`."""

    def __init__(self) -> None:
        self._before: Any = None

    def open(self) -> None:
        """Let keys come through at once, unseen; Ctrl-C stays what it is."""
        if termios is not None:
            import tty

            self._before = termios.tcgetattr(sys.stdin.fileno())
            tty.setcbreak(sys.stdin.fileno())

    def close(self) -> None:
        """Give the terminal back as it was."""
        if termios is not None and self._before is not None:
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)
            self._before = None

    def forget(self) -> None:
        """Forget what was pressed so far."""
        if termios is not None:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        elif msvcrt is not None:
            while msvcrt.kbhit():
                msvcrt.getwch()

    def read(self) -> str | None:
        """Wait for a key: a character, an arrow of `ARROWS`, "" for any other; None at the end of the input."""
        key = self._read_here() if termios is not None else self._read_on_windows()
        return None if key == END_OF_INPUT else key

    def _read_on_windows(self) -> str:
        key = str(msvcrt.getwch())
        if key == "\x03":
            raise KeyboardInterrupt
        return WINDOWS_ARROWS.get(str(msvcrt.getwch()), "") if key in "\x00\xe0" else key

    def _read_here(self) -> str:
        first = self._byte()
        if first == b"":
            return END_OF_INPUT
        if first == b"\x1b":
            found = b""
            while self._has_more() and (byte := self._byte()):
                found += byte
                if found[:1] not in b"[O" or (len(found) > 1 and byte not in b"0123456789;"):
                    break
            is_arrow = found[:1] in (b"[", b"O") and found[-1:] in TERMINAL_ARROWS
            return TERMINAL_ARROWS[found[-1:]] if is_arrow else ""
        count = sum(first[0] >= bound for bound in (0xC0, 0xE0, 0xF0))  # bytes that follow in UTF-8
        rest = b"".join(self._byte() for _ in range(count))
        return (first + rest).decode("utf-8", "replace")

    @staticmethod
    def _byte() -> bytes:
        try:
            return os.read(sys.stdin.fileno(), 1)
        except OSError:  # the terminal is gone
            return b""

    @staticmethod
    def _has_more() -> bool:
        return bool(select([sys.stdin.fileno()], [], [], ESCAPE_SECONDS)[0])


class Desk(Protocol):
    """Shows screens, and reads what somebody wants.

    has_arrows: whether arrow keys are shown; has_keys: whether one key is enough, and screens replace each other.
    """

    console: Console
    has_arrows: bool
    has_keys: bool

    def show(self, draw_fn: DrawFn) -> None:
        """Show a screen."""

    def again(self) -> None:
        """Show the screen again, since something on it has changed; from any thread."""

    def read(self) -> str | None:
        """Wait for a key or a line; None: nobody is there any more."""

    def read_name(self, prompt: str) -> str:
        """Wait for a line."""


class TerminalDesk:
    """A terminal: every screen replaces the last one, and one key is enough. Use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self.console, self.has_arrows, self.has_keys = console, not console.options.ascii_only, True
        self._draw_fn: DrawFn = lambda width, height: []
        self._lock, self._stack, self._keys = RLock(), ExitStack(), Keys()
        self._screen: Any = None

    def __enter__(self) -> "TerminalDesk":
        self._keys.open()
        self._stack.callback(self._keys.close)
        self._screen = self._stack.enter_context(self.console.screen(hide_cursor=True))
        if hasattr(signal, "SIGWINCH"):  # the window has another size
            before = signal.signal(signal.SIGWINCH, lambda *_: self.again())
            self._stack.callback(signal.signal, signal.SIGWINCH, before)
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._screen = None
            self._stack.close()

    def show(self, draw_fn: DrawFn) -> None:
        """Show a screen. What was pressed before nobody could mean for it, and does not count."""
        with self._lock:
            self._draw_fn = draw_fn
            self._keys.forget()
            self.again()

    def again(self) -> None:
        """Draw the screen again, in the size that the terminal has now."""
        with self._lock:
            if self._screen is not None:
                width, height = self.console.size
                self._screen.update(Group(*self._draw_fn(width, height)))

    def read(self) -> str | None:
        """Wait for a key; None at the end of the input."""
        return self._keys.read()

    def read_name(self, prompt: str) -> str:
        """Wait for a line, below the screen."""
        self.console.show_cursor(True)
        self._keys.close()
        try:
            return self.console.input(Text(prompt)).strip()
        except EOFError:
            return ""
        finally:
            self._keys.open()
            self.console.show_cursor(False)


class LineDesk:
    """Lines in and out: for scripts, screen readers and tests."""

    def __init__(self, console: Console) -> None:
        self.console, self.has_arrows, self.has_keys = console, False, False

    def __enter__(self) -> "LineDesk":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def show(self, draw_fn: DrawFn) -> None:
        """Print a screen below the last one."""
        for line in draw_fn(self.console.width, LINES_OF_A_PAGE):
            self.console.print(line, soft_wrap=True)
        self.console.print()

    def again(self) -> None:
        """Do nothing: what has changed is said with the next question."""

    def read(self) -> str | None:
        """Wait for a line that is not empty."""
        while line := sys.stdin.readline():
            if line.strip():
                return line.strip()
        return None

    def read_name(self, prompt: str) -> str:
        """Wait for a line."""
        return self.read() or ""


def understood(text: str, choices: Choices, names_fn: Callable[[str], int]) -> int | str:
    """Return which option a key or a line means, or which command.

    What is shown as a key comes first, then names, then commands by key or word, then whatever `names_fn` knows.
    """
    if text in choices.keys:
        return choices.keys[text]
    if text in choices.names:
        return choices.names[text]
    if text in COMMANDS:
        return COMMANDS[text]
    if text.lower() in COMMANDS.values():
        return text.lower()
    option = names_fn(text)
    if option not in choices.names.values():
        raise InputError(f"what is done must be possible here, got {text!r}. Choose {' or '.join(choices.names)}.")
    return option
