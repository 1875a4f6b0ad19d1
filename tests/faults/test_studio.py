"""The studio's server killed, ended and interrupted in mid-answer: what a browser saw acknowledged is in the study."""

import http.client
import json
import signal
import threading
import time

import numpy as np
import pytest
from faults.forking import forker_of, until
from faults.matrix import attack
from studio.running import QUICK, TOKEN

from journeyman.study import Study
from journeyman.worlds import make_world

PROCESS = "faults.studio_process"
forker = forker_of(PROCESS)
NUM_WAITING = 400  # questions of a study, more than are answered before it is stopped for the last time
PER_STUDY = 10


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Bytes of a study in which many questions wait."""
    path = tmp_path_factory.mktemp("asked") / "grid.study"
    problem = make_world("random-grid", 1, size=3, terminals="independent").problem
    with Study.create(path, problem, **QUICK, acquisition="random") as study:
        study.ask_batch(NUM_WAITING)
    return path.read_bytes()


class Person(threading.Thread):
    """Somebody who answers as fast as the server takes it, and remembers what it acknowledged."""

    def __init__(self, port, name, seed):
        super().__init__(daemon=True)
        self.port, self.name, self.rng, self.kept, self.trouble = port, name, np.random.default_rng(seed), [], []

    def send(self, link, method, what, body=None):
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        path = f"/api/studies/grid/{what}?annotator={self.name}"
        link.request(method, path, None if body is None else json.dumps(body), headers)
        response = link.getresponse()
        found = json.loads(response.read())
        if response.status == 503:  # it is closing: nothing was stored, and it says so
            raise ConnectionError
        if response.status != 200:
            self.trouble.append((response.status, found))
            raise ConnectionError
        return found

    def run(self):
        """Answer until nobody listens any more."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            question = self.send(link, "GET", "question")["question"]
            while question is not None:
                action = int(self.rng.integers(5))
                done = self.send(link, "POST", "answer", {"question": question["id"], "action": action})
                self.kept.append((done["kept"], action))
                question = done["next"]["question"]
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the server has ended
        finally:
            link.close()


def stop_repeatedly(forker, folder, asked, times, how, expected):
    """Stop servers while three people answer, look at the study after each, and return how much was answered."""
    rng, num_kept = np.random.default_rng([how, times]), 0
    for number in range(times):
        place = folder / str(number // PER_STUDY)
        path = place / "grid.study"
        if number % PER_STUDY == 0:
            place.mkdir()
            path.write_bytes(asked)
            kept = {}
        port_file = place / f"port-{number}"
        server = forker.start(PROCESS, place / f"{number}.log", path=str(path), port_file=str(port_file))
        port = int(until(lambda file=port_file: file.exists() and file.read_text(), "it listens"))
        people = [Person(port, f"person-{i}", [how, times, number, i]) for i in range(3)]
        for person in people:
            person.start()
        if number % 3 != 2:  # else perhaps before anything is answered
            until(lambda those=people: any(person.kept for person in those), "somebody has answered")
        time.sleep(rng.uniform(0.0, 0.3))
        begin = time.monotonic()
        server.kill(group=how == signal.SIGINT, how=how)  # a terminal sends Ctrl-C to all of them
        assert server.wait() in expected, server.text()
        assert time.monotonic() - begin < 20.0
        assert "Traceback" not in server.text(), server.text()
        for person in people:
            person.join(60)
            assert not person.trouble
            for query, action in person.kept:
                assert query not in kept
                kept[query] = action, person.name
            num_kept += len(person.kept)
        with Study.open(path, read_only=True) as study:
            stored = {query: (answer.steps[0][1], answer.annotator) for query, answer in study.answers.items()}
            told = [event.payload["query"] for event in study.events if event.name == "tell"]
        assert len(told) == len(set(told))
        assert kept.items() <= stored.items()
        assert len(stored) - len(kept) <= 3 * (1 + number % PER_STUDY)  # sent, and not acknowledged: one each at most
    return num_kept


@attack("studio-kill")
def test_a_server_that_is_killed(forker, tmp_path, asked, times):
    assert stop_repeatedly(forker, tmp_path, asked, times, signal.SIGKILL, {-signal.SIGKILL}) > times // 2


@attack("studio-term")
def test_a_server_that_is_ended(forker, tmp_path, asked, times):
    assert stop_repeatedly(forker, tmp_path, asked, times, signal.SIGTERM, {0, -signal.SIGTERM}) > times // 2


@attack("studio-interrupt")
def test_a_server_that_is_interrupted(forker, tmp_path, asked, times):
    assert stop_repeatedly(forker, tmp_path, asked, times, signal.SIGINT, {0, 130}) > times // 2
