"""Threads over independent work."""

import gc
import pickle
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given, strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from journeyman.errors import InputError
from journeyman.threads import (
    Ahead,
    check_stop,
    chunks,
    default_num_threads,
    one_thread,
    resolve_num_threads,
    run_chunks,
    stop_mark,
)


@given(st.integers(0, 200), st.integers(1, 20))
def test_chunks_cover_everything_once_in_order_and_evenly(total, num_chunks):
    parts = chunks(total, num_chunks)
    assert [i for part in parts for i in part] == list(range(total))
    assert len(parts) == min(total, num_chunks)
    assert all(parts) and max(map(len, parts), default=0) - min(map(len, parts), default=0) <= 1


@pytest.mark.parametrize("num_threads", [1, 2, 5])
@pytest.mark.parametrize("chunk_size", [0, 1, 3, 1000])
@pytest.mark.parametrize("total", [0, 1, 2, 17])
def test_every_index_is_worked_on_once(total, chunk_size, num_threads):
    seen = np.zeros(total, dtype=int)

    def work(part):
        seen[part.start : part.stop] += 1

    run_chunks(work, total, num_threads, chunk_size)
    assert (seen == 1).all()


def test_parts_run_at_the_same_time():
    """Both threads must be inside at once, or the barrier breaks."""
    barrier = threading.Barrier(2, timeout=10)
    turns = []
    run_chunks(lambda part: turns.append(barrier.wait()), 2, 2)
    assert sorted(turns) == [0, 1]


def test_one_thread_is_one_and_leaves_the_main_one_to_listen():
    names = []
    run_chunks(lambda part: names.append(threading.current_thread().name), 5, 1, 1)
    assert len(names) == 5 and len(set(names)) == 1
    assert names[0] != threading.main_thread().name


def test_one_thread_of_another_thread_is_its_own():
    names = []
    run = partial(run_chunks, lambda part: names.append(threading.current_thread().name), 5, 1, 1)
    thread = threading.Thread(target=run, name="caller")
    thread.start()
    thread.join()
    assert names == ["caller"] * 5


@pytest.mark.parametrize("num_threads", [1, 2])
def test_an_error_in_a_part_is_raised(num_threads):
    def work(part):
        if 3 in part:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_chunks(work, 4, num_threads)


def test_the_default_is_all_cores_of_this_process():
    assert resolve_num_threads(None) == default_num_threads() >= 1
    assert resolve_num_threads(3) == 3


@pytest.mark.parametrize("num_threads", [0, -1, 1.5, "2", True])
def test_bad_number_of_threads(num_threads):
    with pytest.raises(InputError, match=r"num_threads must be a whole number of at least 1, got .* Leave it out"):
        resolve_num_threads(num_threads)


@threadpool_limits.wrap(limits=2)
def test_one_thread_holds_while_any_block_needs_it():
    numpy_before = [pool["num_threads"] for pool in threadpool_info()]
    assert set(numpy_before) == {2}
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    first.__exit__(None, None, None)
    assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    second.__exit__(None, None, None)
    assert [pool["num_threads"] for pool in threadpool_info()] == numpy_before


def test_absurdly_many_threads_are_no_more_than_there_is_work():
    done = []
    run_chunks(done.extend, 5, 10**23)
    assert sorted(done) == list(range(5))


def is_working_ahead():
    return any(thread.name == "journeyman-ahead" for thread in threading.enumerate())


def wait_until(condition_fn, seconds=10.0):
    end = time.perf_counter() + seconds
    while not condition_fn() and time.perf_counter() < end:
        time.sleep(0.01)
    return condition_fn()


def test_a_value_ahead_is_computed_once_by_whoever_comes_first():
    names = []

    def compute(num_threads):
        names.append(threading.current_thread().name)
        return num_threads

    here = Ahead(compute)
    assert [here.value(3), here.value(4)] == [3, 3]
    here.begin(5)
    behind = Ahead(compute)
    behind.begin(2)
    behind.begin(7)
    assert [behind.value(3), behind.value(4)] == [2, 2]
    assert names == [threading.current_thread().name, "journeyman-ahead"]


def test_an_error_ahead_is_raised_where_the_value_is_needed_and_may_pass():
    errors = [ZeroDivisionError("a passing one")]

    def compute(num_threads):
        if errors:
            raise errors.pop()
        return 1

    ahead = Ahead(compute)
    ahead.begin(1)
    with pytest.raises(ZeroDivisionError, match="a passing one"):
        ahead.value(1)
    assert ahead.value(1) == 1


def test_ctrl_c_while_waiting_leaves_the_work_going(monkeypatch):
    go = threading.Event()
    ahead = Ahead(lambda num_threads: go.wait(10))
    ahead.begin(1)
    with monkeypatch.context() as patch:
        patch.setattr(ahead._job, "join", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ahead.value(1)
    go.set()
    assert ahead.value(1) is True


def test_work_ahead_ends_when_nobody_can_want_it():
    seen = []

    def compute(num_threads):
        for _ in range(10_000):
            run_chunks(lambda part: (seen.append(part), time.sleep(0.005)), 4, num_threads, 1)
        return True

    for num_threads in (1, 2):
        ahead = Ahead(compute)
        ahead.begin(num_threads)
        assert wait_until(lambda: len(seen) > 2)
        del ahead
        gc.collect()
        assert wait_until(lambda: not is_working_ahead())
        seen.clear()


def test_a_copy_computes_for_itself():
    ahead = Ahead(partial(max, 3))
    ahead.begin(5)
    assert pickle.loads(pickle.dumps(ahead)).value(4) == 4
    assert ahead.value(1) == 5


def test_a_process_ends_while_work_is_under_way():
    code = (
        "import time\n"
        "from journeyman.threads import Ahead, run_chunks\n"
        "def compute(num_threads):\n"
        "    for _ in range(10_000): run_chunks(lambda part: time.sleep(0.02), 8, num_threads, 1)\n"
        "ahead = Ahead(compute); ahead.begin(2); time.sleep(0.1); print('done')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


def test_a_value_says_whether_it_is_ready():
    gate = threading.Event()

    def compute(_):
        gate.wait(10.0)
        return 3

    value = Ahead(compute)
    assert not value.is_ready
    value.begin(1)
    assert not value.is_ready
    gate.set()
    assert value.value(1) == 3 and value.is_ready


def test_an_error_in_a_part_ends_the_others_inside_of_their_work():
    begun = threading.Event()

    def work(part):
        mark = stop_mark(np.zeros(3, dtype=np.int64))
        if 0 in part:
            begun.wait(10)
            raise ZeroDivisionError
        begun.set()
        while mark[-1] == 0:
            time.sleep(0.001)

    with pytest.raises(ZeroDivisionError):
        run_chunks(work, 2, 2)


def test_nobody_is_told_to_stop_where_nobody_can_tell():
    mark = stop_mark(np.array([5, 0]))
    check_stop()
    assert mark.tolist() == [5, 0]


INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
import journeyman as jm
from journeyman.worlds.gridworld import gridworld

def work(side, **more):
    mdp = gridworld(side, side, discount=0.95)
    model = jm.PerState(mdp)
    problem = jm.Problem(mdp, model, jm.Normal(model.num_parameters, 0.0, 3.0), 2.0)
    answers = [jm.Demonstration.annotation(s, s % 5) for s in range(0, mdp.num_states, 20)]
    jm.infer(problem, answers, method, num_threads=num_threads, **(options | more))

num_threads, method, options = int(sys.argv[1]), sys.argv[2], eval(sys.argv[3])
work(3, **eval(sys.argv[4]))  # so that all is imported and compiled: what is interrupted is the work
begun = []

def interrupt():
    begun.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

timer = threading.Timer(3.0, interrupt)
timer.daemon = True
timer.start()
try:
    work(20)
except KeyboardInterrupt:
    print(time.perf_counter() - begun[0])
"""


@pytest.mark.parametrize(
    ("num_threads", "method", "options", "few"),
    [
        (2, "smc", {"num_particles": 2000}, {"num_particles": 100}),
        pytest.param(
            1, "policywalk", {"sampler": "hmc", "num_draws": 100_000}, {"num_draws": 10}, marks=pytest.mark.slow
        ),
        pytest.param(2, "valuewalk", {"num_draws": 100_000}, {"num_draws": 10}, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_is_obeyed_inside_compiled_work(num_threads, method, options, few):
    """Minutes of work are interrupted after three seconds, and must end long before they are done."""
    command = [sys.executable, "-c", INTERRUPTED, str(num_threads), method, repr(options), repr(few)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert float(ended.stdout) < 30.0, ended.stderr
