"""A real server of the studio on loopback, in a process of its own that ends with the tests, whatever happens."""

import ctypes
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest

STARTING = 120.0  # seconds that a server may take until it prints its address, on a busy machine
PR_SET_PDEATHSIG = 1


class Server:
    """A server for the studies in a folder; it can be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        self.origin = self.token = ""

    def start(self, *arguments: str) -> "Server":
        """Start the server and wait until it can be asked; again: at the same address."""
        port = self.origin.rsplit(":", 1)[1] if self.origin else "0"
        command = [sys.executable, "-m", "journeyman", "studio", *arguments, "--port", port, "--no-browser"]
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=os.environ | {"XDG_STATE_HOME": str(self.folder / "state")},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=_die_with_parent,
            )
        self.origin, self.token = self._printed_address()
        self._wait_until_open()
        return self

    def _printed_address(self) -> tuple[str, str]:
        assert self.process is not None and self.process.stdout is not None
        printed, end = "", time.monotonic() + STARTING
        while time.monotonic() < end and self.process.poll() is None:
            if select.select([self.process.stdout], [], [], 0.2)[0]:
                printed += os.read(self.process.stdout.fileno(), 65536).decode()
                if found := re.search(r"(http://[\d.]+:\d+)/\?(?:\S*&)?token=([\w-]+)", printed):
                    return found[1], found[2]
        self.stop()
        log = (self.folder / "server.log").read_text()
        pytest.fail(f"The studio did not start.\n{printed}\n{log}")

    def _wait_until_open(self) -> None:
        host, port = self.origin.removeprefix("http://").split(":")
        for _ in range(int(STARTING / 0.1)):
            with suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
                return
            time.sleep(0.1)

    def address(self, **query: str) -> str:
        """Return the address that somebody opens, with the token in it."""
        return f"{self.origin}/?{urlencode({'token': self.token, **query})}"

    def kill(self) -> None:
        """Kill the server as a power cut would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """End the server."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._reap()

    def _reap(self) -> None:
        if self.process is not None:
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
