"""Workers do any task, one core each; processes that die are replaced; a first Ctrl-C lets tasks end."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from journeyman.errors import InputError
from journeyman.storage.processes import LocalProcesses
from journeyman.storage.workers import (
    Tasks,
    ThisProcess,
    do_task,
    first_interruption,
    is_stop_wanted,
    run_each,
    workers,
)


def count(num_steps):
    """A task of many steps: returns how many it did."""
    for step in range(1, num_steps + 1):
        time.sleep(0.001)
        if is_stop_wanted():
            return step
    return num_steps


def fail(_):
    raise InputError("no such number. Choose another.")


@threadpool_limits.wrap(limits=2)
def test_a_task_uses_one_thread():
    assert {library["num_threads"] for library in threadpool_info()} == {2}
    seen = do_task(threadpool_info)
    assert seen
    assert {library["num_threads"] for library in seen} == {1}


def test_this_process_does_a_task_at_once():
    future = ThisProcess().submit(count, 3)
    assert future.done()
    assert future.result() == 3


def test_this_process_stops_after_a_step_when_it_is_told_to():
    team = ThisProcess()
    team.stop()
    assert team.submit(count, 9).result() == 1
    assert not is_stop_wanted()  # only tasks are told


def test_an_error_of_a_task_is_given_back():
    team = ThisProcess()
    error = team.error_of(team.submit(fail, 2))
    assert isinstance(error, InputError)
    assert not team.is_lost(error)


def test_local_processes_do_what_this_one_does_and_may_die():
    """One process after the other is killed, with a task and without; whoever asks only sees a lost task."""
    team = LocalProcesses(1)
    try:
        future = team.submit(count, 1_000_000, key="a")
        first = team._slots[0].ready.result(timeout=60)
        assert first != os.getpid()
        os.kill(first, signal.SIGKILL)
        error = team.error_of(future)
        assert team.is_lost(error)
        assert team.submit(count, 2, key="a").result(timeout=60) == 2
        second = team._slots[0].ready.result()
        assert second != first
        os.kill(second, signal.SIGKILL)  # with nothing to do
        future = team.submit(count, 2)
        error = team.error_of(future)
        if error is not None:  # the death was noticed only with the task
            assert team.is_lost(error)
            future = team.submit(count, 2)
        assert future.result(timeout=60) == 2
        future = team.submit(count, 1_000_000)
        team.stop()
        assert 1 <= future.result(timeout=60) < 1_000_000
    finally:
        team.close()
    assert len(team._slots) == 1


class Deadly(ThisProcess):
    """A worker that dies whenever it gets a certain task, so many times."""

    def __init__(self, key, num_deaths):
        self.key, self.deaths_left = key, num_deaths

    def submit(self, task_fn, *arguments, key=""):
        if key == self.key and self.deaths_left:
            self.deaths_left -= 1
            future = Future()
            future.set_exception(BrokenProcessPool("it died"))
            return future
        return super().submit(task_fn, *arguments, key=key)

    def is_lost(self, error):
        return isinstance(error, BrokenProcessPool)


@pytest.mark.parametrize("num_deaths", [1, 2, 3])
def test_a_task_whose_worker_dies_is_done_again_but_not_for_ever(num_deaths):
    tasks = Tasks(Deadly("b", num_deaths))
    outcomes = {}
    for key in "abc":
        tasks.submit(key, count, 2)
        while len(tasks):
            outcomes |= {outcome.key: outcome for outcome in tasks.ended()}
    assert [outcomes[key].result for key in "ac"] == [2, 2]
    if num_deaths < 3:
        assert outcomes["b"].result == 2
    else:
        assert isinstance(outcomes["b"].error, BrokenProcessPool)
        assert outcomes["b"].words == "its worker died 3 times (out of memory?): BrokenProcessPool: it died"


def test_each_of_many_tasks_is_done_once_and_the_first_error_ends_it():
    found = []
    run_each(count, [(number,) for number in range(4)], found.append, num_workers=1)
    assert found == [0, 1, 2, 3]
    run_each(count, [], found.append, num_workers=3)
    with pytest.raises(InputError, match="no such number"):
        run_each(fail, [(1,), (2,)], found.append, num_workers=1)
    assert found == [0, 1, 2, 3]


def interrupted(number):
    if number == 2:
        signal.raise_signal(signal.SIGINT)
    return number


def test_an_interruption_keeps_the_task_in_progress():
    found = []
    with pytest.raises(KeyboardInterrupt):
        run_each(interrupted, [(number,) for number in range(9)], found.append, num_workers=1)
    assert found == [0, 1, 2]


SCRIPT = """
from journeyman.storage.workers import run_each
run_each(len, [("a",), ("b",)], print, num_workers=2)
"""


@pytest.mark.slow
def test_a_script_that_forgot_its_guard_is_told(tmp_path):
    """New processes import the script; without the guard each would start others, and ends before it does anything."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 1
    assert "InputError: local workers must be able to start, got 3 that ended before they did anything" in done.stderr
    assert "if __name__ == '__main__':" in done.stderr.splitlines()[-1]


def test_the_first_interruption_is_a_wish_and_the_second_an_order():
    told = []
    with first_interruption(lambda: told.append(1)) as interruption:
        assert not interruption.is_wanted
        signal.raise_signal(signal.SIGINT)
        assert interruption.is_wanted
        assert told == [1]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert told == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interruptions_that_somebody_else_takes_care_of_stay_theirs():
    taken = []
    before = signal.signal(signal.SIGINT, lambda number, frame: taken.append(number))
    try:
        with first_interruption(taken.clear) as interruption:
            signal.raise_signal(signal.SIGINT)
            assert not interruption.is_wanted
    finally:
        signal.signal(signal.SIGINT, before)
    assert taken == [signal.SIGINT]


@pytest.mark.parametrize(
    ("executor", "scheduler", "words"),
    [
        ("slurm", None, "executor must be one of local, dask, got 'slurm'. Leave it out for 'local'"),
        ("dask", None, "executor 'dask' must know its scheduler"),
        ("local", "tcp://127.0.0.1:1", "a scheduler must come with executor 'dask'"),
    ],
)
def test_an_executor_goes_with_its_scheduler(executor, scheduler, words):
    with pytest.raises(InputError, match=words), workers(executor, 1, scheduler):
        pass
