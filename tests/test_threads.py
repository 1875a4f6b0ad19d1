"""Threads over independent work."""

import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from journeyman.errors import InputError
from journeyman.threads import chunks, default_num_threads, one_thread, resolve_num_threads, run_chunks


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


def test_one_thread_is_the_callers():
    names = []
    run_chunks(lambda part: names.append(threading.current_thread().name), 5, 1)
    assert names == [threading.current_thread().name]


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
