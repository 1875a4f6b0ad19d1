"""The server's end of the worker of a study: starts it, feeds it, hears it, and starts it again when it dies."""

import multiprocessing
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from journeyman.learner import Event
from journeyman.studio import worker
from journeyman.threads import default_num_threads

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before it is started again
LIVED_LONG = 60.0  # seconds after which a death is not counted with earlier ones
PATIENCE_AT_END = 1.5  # seconds that it may take to hand over its snapshot


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Let processes that are started by this thread meanwhile never hear of Ctrl-C, which a terminal sends to all.

    They ignore it when they are ready to, which takes them a second.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # else starting a process would start it, and let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Listener(Protocol):
    """Who hears what the worker says; called in a thread of the link."""

    def events_from(self, number: int) -> Sequence[Event]:
        """Return the events from this number on."""

    def hear(self, name: str, *content: Any) -> None:
        """Take in a message of the worker."""


class WorkerLink:
    """A worker process that is always there, or soon will be."""

    def __init__(self, path: Path, listener: Listener, num_threads: int | None = None) -> None:
        self.path, self.listener = path, listener
        self.num_threads = num_threads or max(1, default_num_threads() - 1)
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._connection: Connection | None = None
        self._outbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._num_sent = -1  # events that the worker has or will get; -1: it is not ready for any
        self._jobs: dict[int, Future[bytes]] = {}
        self._num_jobs = 0
        self._lock = threading.Lock()
        self._is_closing = False
        self._threads = [
            threading.Thread(target=target, name=f"studio-{target.__name__}", daemon=True)
            for target in (self._supervise, self._send_all)
        ]

    def start(self) -> None:
        """Start the worker."""
        for thread in self._threads:
            thread.start()

    # What the server says

    def tell_events(self) -> None:
        """Hand the worker the events that it does not have; returns at once."""
        self._outbox.put(self._send_events)

    def tell(self, name: str, *content: Any) -> None:
        """Send a message; returns at once."""
        self._outbox.put(lambda: self._send((name, *content)))

    def order(self, name: str) -> "Future[bytes]":
        """Order a file that the worker can make."""
        wanted: Future[bytes] = Future()
        with self._lock:
            self._num_jobs += 1
            number = self._num_jobs
            self._jobs[number] = wanted
        self.tell("job", number, name)
        return wanted

    @property
    def is_ready(self) -> bool:
        """Whether the worker has read the study."""
        return self._num_sent >= 0

    def kill(self) -> None:
        """End the worker now; another is started."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the worker, after it has handed over what is worth keeping."""
        self._is_closing = True
        process = self._process
        if process is not None and process.is_alive():
            if self.is_ready:
                self.tell("stop")
                process.join(PATIENCE_AT_END)
            process.kill()
            process.join()
        self._outbox.put(None)
        if self._threads[0].is_alive():
            self._threads[0].join(PATIENCE_AT_END)

    # Inside

    def _send_all(self) -> None:
        while (send_fn := self._outbox.get()) is not None:
            with suppress(OSError, ValueError):  # it is gone: the next one reads the file
                send_fn()

    def _send(self, message: tuple[Any, ...]) -> None:
        connection = self._connection
        if connection is not None:
            connection.send(message)

    def _send_events(self) -> None:
        if self._num_sent < 0:
            return
        events = self.listener.events_from(self._num_sent)
        if events:
            self._num_sent = events[-1].number + 1
            self._send(("events", worker.event_records(events)))

    def _supervise(self) -> None:
        """Keep a worker alive, with longer and longer pauses if it dies soon."""
        pause = FIRST_PAUSE
        while not self._is_closing:
            begin = time.monotonic()
            try:
                self._live()
            except OSError as error:  # no process could be started
                self.listener.hear("failed", f"no process could be started: {error.strerror or error}.")
            self._num_sent = -1
            self._give_up_jobs()
            if self._has_to_end():
                return
            pause = FIRST_PAUSE if time.monotonic() - begin > LIVED_LONG else min(2.0 * pause, LONGEST_PAUSE)
            self.listener.hear("status", "restarting", "The learner stopped, and is started again.")
            for _ in range(int(pause / 0.05)):
                if self._has_to_end():
                    return
                time.sleep(0.05)

    def _has_to_end(self) -> bool:
        return self._is_closing

    def _live(self) -> None:
        """Start a worker and hear it until it ends."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=worker.run, args=(theirs, str(self.path), self.num_threads), name="journeyman-studio", daemon=True
        )
        with interrupts_held_back():
            process.start()
        theirs.close()
        self._connection, self._process = ours, process
        try:
            while True:
                name, *content = ours.recv()
                if name == "ready":
                    self._num_sent = int(content[0])
                    self.tell_events()
                elif name == "done":
                    self._finish_job(*content)
                    continue
                self.listener.hear(name, *content)
        except (EOFError, OSError):
            pass
        finally:
            self._connection = None
            ours.close()
            process.join()

    def _finish_job(self, number: int, made: bytes | None, words: str) -> None:
        with self._lock:
            wanted = self._jobs.pop(number, None)
        if wanted is None or wanted.done():
            return
        if made is None:
            wanted.set_exception(RuntimeError(words))
        else:
            wanted.set_result(made)

    def _give_up_jobs(self) -> None:
        with self._lock:
            given_up, self._jobs = list(self._jobs.values()), {}
        for wanted in given_up:
            if not wanted.done():
                wanted.set_exception(RuntimeError("The learner stopped while it made this. Ask for it again."))
