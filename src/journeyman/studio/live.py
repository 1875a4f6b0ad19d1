"""Live events: what has changed, told to every page that listens, in order and numbered.

A page that was away asks with the number of the last event that it saw, and gets what it missed, as far as that is
remembered; in any case it is greeted with how things stand, and fetches what differs.
"""

import asyncio
import json
import secrets
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any

REMEMBERED = 256  # events
MAX_LISTENERS = 500
PAUSE = 15.0  # seconds after which a silent stream says that it is alive
SPACING = 0.2  # seconds between two events of the same name


class Hub:
    """Events of one study, and the pages that listen. `tell` may be called by any thread."""

    def __init__(self, hello_fn: Callable[[], dict[str, Any]]) -> None:
        self.hello_fn = hello_fn
        self.run = secrets.token_hex(4)  # numbers of another run of the server mean nothing here
        self.people: dict[int, str] = {}  # who listens
        self._number = 0
        self._past: deque[tuple[int, str]] = deque(maxlen=REMEMBERED)
        self._queues: dict[int, asyncio.Queue[str | None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held: dict[str, dict[str, Any]] = {}  # told too soon after the last one of its name
        self._resting: set[str] = set()
        self._lock = threading.Lock()
        self.is_closed = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Say in which loop the pages are served."""
        self._loop = loop

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Tell all pages; of several events of one name in quick succession only the last one is told."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            with self._lock:
                self._held[name] = data
                if name in self._resting:
                    return
                self._resting.add(name)
            try:
                loop.call_soon_threadsafe(self._flush, name)
            except RuntimeError:  # the loop ends
                return

    def _flush(self, name: str) -> None:
        with self._lock:
            data = self._held.pop(name, None)
            if data is None:
                self._resting.discard(name)
                return
        self._number += 1
        text = _event(name, data, f"{self.run}-{self._number}")
        self._past.append((self._number, text))
        for waiting in self._queues.values():
            if waiting.qsize() < REMEMBERED:  # a page that does not read is greeted when it comes back
                waiting.put_nowait(text)
        assert self._loop is not None
        self._loop.call_later(SPACING, self._flush, name)

    async def listen(self, person: str, last: str | None) -> AsyncGenerator[str, None]:
        """Yield the text of the stream for one page, until it goes or the server stops."""
        waiting: asyncio.Queue[str | None] = asyncio.Queue()
        key = id(waiting)
        self._queues[key], self.people[key] = waiting, person
        try:
            yield "retry: 1000\n\n"
            yield _event("hello", self.hello_fn(), f"{self.run}-{self._number}")
            for number, text in list(self._past):
                if number > self._seen(last):
                    yield text
            while not self.is_closed:
                try:
                    text_or_end = await asyncio.wait_for(waiting.get(), PAUSE)
                except TimeoutError:
                    yield ": alive\n\n"
                    continue
                if text_or_end is None:
                    break
                yield text_or_end
            yield _event("bye", {}, None)
        finally:
            self._queues.pop(key, None)
            self.people.pop(key, None)

    def _seen(self, last: str | None) -> int:
        """Return up to which number a page knows; all that is remembered if it does not say, or comes from before."""
        run, _, number = (last or "").rpartition("-")
        return int(number) if run == self.run and number.isdecimal() and len(number) < 20 else self._number

    @property
    def is_full(self) -> bool:
        """Whether no more pages can listen."""
        return len(self._queues) >= MAX_LISTENERS

    def close(self) -> None:
        """End all streams."""
        self.is_closed = True
        for waiting in self._queues.values():
            waiting.put_nowait(None)


def _event(name: str, data: dict[str, Any], number: str | None) -> str:
    head = f"id: {number}\n" if number else ""
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n"
