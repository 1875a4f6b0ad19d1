"""The real command in a process of its own, on the loopback network: killed, it loses nothing acknowledged."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from studio.running import until

from journeyman.errors import InputError
from journeyman.studio.serving import Doorway, TokenFile, address_of, bound_socket, is_loopback, names_of
from journeyman.studio.session import Session
from journeyman.study import Study


class Command:
    """`journeyman studio` on a file, at a port of its own."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "journeyman", "studio", *arguments, "--no-browser"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env=os.environ | {"XDG_STATE_HOME": str(folder / "state")},
        )  # fmt: skip
        self.lines = []
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if found := re.match(r"http://127\.0\.0\.1:(\d+)/\?token=(\S+)$", line.strip()):
                self.port, self.token = int(found[1]), found[2]
                return
        self.kill()
        raise AssertionError("\n".join(self.lines))

    def send(self, path, body=None):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def wait(self):
        """Wait until it answers."""

        def look():
            try:
                return self.send("/api/studies")
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None
                return None

        until(look)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def worker_of(process):
    """Return the process that computes, once there is one."""

    def look():
        found = subprocess.run(
            ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
        ).stdout
        return [int(line.split()[0]) for line in found.splitlines() if "spawn_main" in line]

    return until(look)[0]


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"  # dead, and nobody has looked


def try_the_client_of_the_docs(command):
    """Run the client that docs/studio-api.md shows as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "studio-api.md").read_text("utf-8")
    (client,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    address = f"http://127.0.0.1:{command.port}/?token={command.token}"
    done = subprocess.run(
        [sys.executable, "-c", client],
        env=os.environ | {"STUDIO": address},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("kept ") == 3
    people = {one["name"]: one["num_answers"] for one in command.send("/api/studies/grid/status")["annotators"]}
    assert people == {"ada": 5, "robot": 3}


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes as Linux shows them")
def test_killed_in_the_middle_and_started_again(grid):
    """Same token, port and questions; every answer that was acknowledged is in the file, and no process stays."""
    command = Command(grid.parent, grid.name, "--port", "0").wait()
    try:
        assert any("Continuing grid.study" in line for line in command.lines)
        kept, question = [], command.send("/api/studies/grid/question?annotator=ada")["question"]
        for action in range(5):
            done = command.send(
                "/api/studies/grid/answer?annotator=ada", {"question": question["id"], "action": action}
            )
            kept.append((done["kept"], action))
            question = done["next"]["question"]
        worker = worker_of(command.process)
    finally:
        command.kill()
    until(lambda: is_gone(worker), 20)
    with Study.open(grid, read_only=True) as study:
        assert [(key, answer.steps[0][1]) for key, answer in study.answers.items()] == kept
    again = Command(grid.parent, grid.name, "--port", str(command.port)).wait()
    try:
        assert (again.token, again.port) == (command.token, command.port)
        assert again.send("/api/studies/grid/question?annotator=ada")["question"] == question
        try_the_client_of_the_docs(again)
        begin = time.monotonic()
        again.process.send_signal(signal.SIGTERM)
        again.process.wait(30)
        assert time.monotonic() - begin < 15.0
        assert again.process.returncode == 0
        assert "Stopped. To continue: journeyman studio grid.study" in again.process.stdout.read()
    finally:
        again.kill()


def test_a_token_is_kept_for_its_user_alone_and_a_study_is_served_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first = TokenFile(tmp_path / "a.study")
    with pytest.raises(InputError, match="served by one studio at a time"):
        TokenFile(tmp_path / "a.study")
    other = TokenFile(tmp_path / "b.study")
    assert other.token != first.token
    (folder,) = (tmp_path / "state").rglob("studio")
    assert all(path.stat().st_mode & 0o077 == 0 for path in (folder, *folder.iterdir()))
    first.close()
    again = TokenFile(tmp_path / "a.study")
    assert again.token == first.token
    again.close()
    new = TokenFile(tmp_path / "a.study", is_new=True)
    assert new.token != first.token
    new.close()
    other.close()
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    once = TokenFile(tmp_path / "a.study")
    assert not once.is_kept and len(once.token) >= 32
    once.close()


def test_a_browser_is_led_to_the_address_by_a_file_that_nobody_else_can_read(monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("journeyman.studio.serving.BROWSER_AFTER", 0.0)
    monkeypatch.setattr("journeyman.studio.serving.DOORWAY_SECONDS", 0.5)
    doorway = Doorway("http://127.0.0.1:1/?token=T&annotator=ada")
    assert doorway.path.stat().st_mode & 0o777 == 0o600
    assert doorway.path.parent.stat().st_mode & 0o777 == 0o700
    assert "url=http://127.0.0.1:1/?token=T&amp;annotator=ada" in doorway.path.read_text()
    doorway.open()
    until(lambda: opened, 10)
    assert opened == [doorway.path.as_uri()] and "token" not in opened[0]
    until(lambda: not doorway.path.parent.exists(), 10)
    doorway.close()  # once more does no harm


def test_where_a_studio_listens():
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("lab.example") and not is_loopback("192.168.1.5")
    assert names_of("192.168.1.5") == ("192.168.1.5",)
    first = bound_socket("127.0.0.1", None)
    second = bound_socket("127.0.0.1", None)  # the next one that is free
    assert first.getsockname()[1] != second.getsockname()[1]
    with pytest.raises(InputError, match=r"Choose another with --port"):
        first.listen()
        bound_socket("127.0.0.1", first.getsockname()[1])
    address = address_of(first, "127.0.0.1", "T", "ada l")
    assert address == f"http://127.0.0.1:{first.getsockname()[1]}/?token=T&annotator=ada%20l"
    first.close()
    second.close()


def test_two_studios_never_serve_one_study_whoever_starts_them(grid):
    """The lock is on the study itself: users have different folders for their tokens."""
    first = Session(Study.open(grid), has_worker=False)
    other = Study.open(grid)
    with pytest.raises(InputError, match="one studio at a time"):
        Session(other, has_worker=False)
    other.close()
    first.study.close()
    first._held.close()
    with Study.open(grid) as study:
        Session(study, has_worker=False)._held.close()
