"""Serving a studio: where, with which token, and until when."""

import asyncio
import hashlib
import html
import ipaddress
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from journeyman.errors import InputError
from journeyman.extras import require
from journeyman.storage.files import try_lock

PORT, NUM_PORTS = 8765, 20
BROWSER_AFTER, DOORWAY_SECONDS = 0.5, 30.0  # seconds until a browser is opened, and for which it may read its way
GRACE = 2  # seconds that requests under way get when the server stops
HEAD_SECONDS = 20.0  # in which the head of a request must have come; idle connections are closed after 5


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_of(host: str) -> tuple[str, ...]:
    """Return the names by which a server on an address may be called."""
    if is_loopback(host):
        return (host,)
    names = [host]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        own = socket.gethostname()
        names = [own, own.partition(".")[0], f"{own.partition('.')[0]}.local"]
        with suppress(OSError):
            names += [str(found[4][0]) for found in socket.getaddrinfo(own, None)]
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # sends nothing; tells by which address this machine goes out
            names.append(str(probe.getsockname()[0]))
    return tuple(dict.fromkeys(name.lower() for name in names))


def bound_socket(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens: at the port that was asked for, else at the usual one or one after it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tried = [port] if port is not None else [*range(PORT, PORT + NUM_PORTS), 0]
    for number in tried:
        listening = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            listening.listen(128)  # now, so that nobody else gets this port
            listening.set_inheritable(False)
            return listening
        except (OSError, OverflowError) as error:
            listening.close()
            reason = getattr(error, "strerror", None) or str(error)
    raise InputError(
        f"the studio must be able to listen at {host}, port {tried[0]}, but it cannot: {reason}. "
        "Choose another with --port."
    )


class TokenFile:
    """The token of a studio, kept for its user alone, so that pages stay open when the server is started again.

    Held until `close`: two servers must not serve one study.
    """

    def __init__(self, place: Path, *, is_new: bool = False) -> None:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        folder = base / "journeyman" / "studio"
        path = folder / f"{hashlib.sha256(str(place.resolve()).encode()).hexdigest()[:24]}.token"
        self.token, self.is_kept = secrets.token_urlsafe(24), False
        self._file: Any = None
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="ascii")
        except OSError:
            return  # a token for this time only
        if not try_lock(self._file):
            self._file.close()
            raise InputError(
                f"a study must be served by one studio at a time, but another one serves {str(place)!r}. Open its "
                "address, or stop it first."
            )
        kept = self._file.read(200).strip()
        if len(kept) >= 32 and not is_new:
            self.token = kept
        else:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(self.token)
            self._file.flush()
        self.is_kept = True

    def close(self) -> None:
        """Let another studio serve."""
        if self._file is not None:
            self._file.close()


def address_of(listening: socket.socket, host: str, token: str, annotator: str | None) -> str:
    """Return the address to open."""
    from urllib.parse import quote

    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104 - compared
    shown = f"[{name}]" if ":" in name else name
    who = f"&annotator={quote(annotator)}" if annotator else ""
    return f"http://{shown}:{listening.getsockname()[1]}/?token={token}{who}"


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM; live streams are ended first."""
    uvicorn = require("uvicorn", "studio")
    from uvicorn.protocols.http.h11_impl import H11Protocol

    studio = app.state.studio

    class Connection(H11Protocol):
        """Closes connections on which no whole head of a request comes, and those whose body breaks the protocol.

        uvicorn would wait for a head for ever; and after its own response to a broken body the application would fail
        to send another.
        """

        waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.wait_for_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.stop_waiting()

        def wait_for_head(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self.stop_waiting()
            elif self.waiting is None and not self.transport.is_closing():
                self.waiting = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

        def send_400_response(self, msg: str) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
                if self.cycle.response_started:
                    self.transport.abort()
                    return
            super().send_400_response(msg)

        def stop_waiting(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
                self.waiting = None

    class Server(uvicorn.Server):  # type: ignore[misc, name-defined]
        def handle_exit(self, sig: int, frame: Any) -> None:
            studio.end_streams()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        # "error": what strangers send that is no HTTP must not fill the terminal
        app, access_log=False, log_level="error", timeout_graceful_shutdown=GRACE, server_header=False,
        proxy_headers=False, lifespan="on", ws="none", http=Connection,
    )  # fmt: skip
    with suppress(KeyboardInterrupt), _surviving(signal.SIGTERM):
        Server(config).run(sockets=[listening])


@contextmanager
def _surviving(number: signal.Signals) -> Iterator[None]:
    """Let a signal end the server, but not this process: uvicorn sends it once more after it has stopped."""
    before = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(number, before)


class Doorway:
    """A file that leads a browser to an address: only its own user can read it, and it is gone after a while.

    What stands on the command line of the browser, which others may list, is the name of the file, not the token.
    """

    def __init__(self, address: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="journeyman-"))  # for its user alone
        self.path = self._folder / "studio.html"
        shown = html.escape(address)
        text = (
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={shown}"><title>journeyman studio</title>'
            f'<a href="{shown}">Open the studio</a>'
        )
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)

    def close(self) -> None:
        """Remove the file."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(self) -> None:
        """Open it in a browser, in a thread: some browsers do not return until they are closed."""
        import webbrowser

        self._later(BROWSER_AFTER, lambda: webbrowser.open(self.path.as_uri()))
        self._later(BROWSER_AFTER + DOORWAY_SECONDS, self.close)

    def _later(self, seconds: float, do_fn: Callable[[], Any]) -> None:
        timer = threading.Timer(seconds, do_fn)
        timer.daemon = True
        timer.start()
