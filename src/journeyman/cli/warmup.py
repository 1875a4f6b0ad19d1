"""`journeyman warmup`: compile everything now, so that nothing waits for it later."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

# Not more: numba could mix up two forms of one function if two processes kept them at the same moment. These two
# hardly meet, since each part compiles functions of its own and those that it shares are compiled by the first ones.
NUM_PROCESSES = 2


def warmup() -> None:
    """Compile everything now, so that no later command waits for it.

    What is compiled is kept for later processes. Without this, each command compiles what it needs when it first needs
    it, which takes a few seconds, once.

    Example: [bold]journeyman warmup[/], once after journeyman was installed or updated.
    """
    from journeyman.compiling import CACHE

    def report(done: tuple[str, int, float]) -> None:
        name, count, seconds = done
        words = f"{count} functions compiled in {seconds:.0f} s" if count else "compiled already"
        print(f"{name}: {words}", flush=True)

    if not CACHE:
        print("Nothing can be kept: neither the package's folder nor one of yours can be written. Set NUMBA_CACHE_DIR.")
        return
    compile_parts(PARTS, report)


def compile_at_first_use() -> None:
    """If nothing was compiled yet, compile what every learner needs, on two cores: half the wait."""
    from journeyman.compiling import has_kept
    from journeyman.inference.kernels import dense_gradient
    from journeyman.storage.workers import workers
    from journeyman.threads import default_num_threads

    if has_kept(dense_gradient) or default_num_threads() == 1:
        return
    with workers("local", NUM_PROCESSES) as team:
        beside = team.submit(compile_part, "particles")
        for name in ("solving", "scores of states"):
            PARTS[name]()
        beside.result()


def compile_parts(names: Iterable[str], report_fn: Callable[[tuple[str, int, float]], None] = lambda _: None) -> None:
    """Compile parts in processes of their own, so that they can be compiled side by side."""
    from journeyman.storage.workers import run_each
    from journeyman.threads import default_num_threads

    run_each(
        compile_part, ((name,) for name in names), report_fn, num_workers=min(NUM_PROCESSES, default_num_threads())
    )


def compile_part(name: str) -> tuple[str, int, float]:
    """Compile a part; return its name, how many functions that compiled, and the seconds that it took."""
    from journeyman.compiling import COMPILATION

    COMPILATION.is_silent = True
    begin, before = time.perf_counter(), COMPILATION.num_compiled
    PARTS[name]()
    return name, COMPILATION.num_compiled - before, time.perf_counter() - begin


def solve_worlds() -> None:
    """Solve by policy iteration, by sweeps, one and many rewards at once, and evaluate a policy."""
    import numpy as np

    from journeyman.mdp import evaluate_policy, solve_batch
    from journeyman.mdp.solvers import values_in_single
    from journeyman.worlds import make_world

    for name, options in (("jail", {}), ("random-grid", {"size": 5})):
        mdp = make_world(name, 0, **options).problem.mdp
        rewards = np.random.default_rng(0).standard_normal((8, mdp.num_states))
        for method in ("direct", "sweeps"):
            solution = solve_batch(mdp, rewards, method=method, num_threads=1)  # in this thread, which Ctrl-C ends
        values_in_single(mdp, rewards.__getitem__, len(rewards), num_threads=1)
        evaluate_policy(mdp, solution.policy[0], rewards[0])


def move_particles() -> None:
    """Move and weigh particles where they are: nothing is solved, so that this can go beside `solve_worlds`."""
    import numpy as np

    from journeyman.inference.target import Target
    from journeyman.worlds import make_world

    problem = make_world("random-grid", 0, size=3).problem
    num_states, shape = problem.mdp.num_states, (2, 1)
    target = Target(problem, problem.mdp.available * 1.0)
    start = (np.zeros((2, target.dimension)), np.zeros((2, num_states)), np.zeros((2, num_states), dtype=np.int64))
    momenta, scales = np.ones((*shape, target.dimension)), np.ones(target.dimension)
    lengths = np.ones(shape, dtype=np.int64)
    target.move_chains(start, momenta, np.ones(shape), scales, 0.0 * scales, np.full(shape, 0.1), lengths, 1)
    target.log_likelihood(start[0], start[1])


def infer_by(method: str, **options: Any) -> None:
    """Infer the reward of a small world."""
    from journeyman.demonstrations import Demonstration
    from journeyman.inference import infer
    from journeyman.worlds import make_world

    problem = make_world("random-grid", 0, size=3).problem
    states = [state for state in range(9) if not problem.mdp.terminal[state]]
    demonstrations = [Demonstration(state, ((state, action),)) for state in states for action in (0, 0, 1)]
    infer(problem, demonstrations, method, num_threads=1, **options)


def infer_by_sparse_rows() -> None:
    """Compile the gradient of large problems, and what goes through all of their states."""
    import numpy as np

    from journeyman.inference.target import Target
    from journeyman.mdp.accuracy import look_through
    from journeyman.worlds import make_world

    problem = make_world("random-grid", 0, size=3).problem
    assert Target(problem, engine="sparse").gradient_fn.signature()
    values = np.zeros((1, problem.mdp.num_states), dtype=np.float32)
    look_through(problem.mdp, lambda _: values[0].astype(float), values, np.zeros(1))


def score(kind: str, length: int | None) -> None:
    """Score queries of a kind by what their answers tell."""
    from journeyman import acquisition
    from journeyman.inference import infer
    from journeyman.worlds import make_world

    posterior = infer(make_world("random-grid", 0, size=3).problem, (), num_particles=100, num_threads=1)
    for name in ("reward_eig", "pac_eig", "action_entropy"):
        acquisition.score(posterior, name, kind=kind, length=length, num_histories=4, num_threads=1)


# Two at a time, in this order: parts that others build upon come first, then the longest.
PARTS: dict[str, Callable[[], None]] = {
    "solving": solve_worlds,
    "particles": move_particles,
    "inference by valuewalk": partial(infer_by, "valuewalk", num_chains=1, num_warmup=10, num_draws=10),
    "inference on large problems": infer_by_sparse_rows,
    "inference on many data": partial(infer_by, "smc", path="mode", num_particles=100),
    "inference by policywalk": partial(
        infer_by, "policywalk", sampler="hmc", num_chains=1, num_warmup=10, num_draws=10
    ),
    "scores of states": partial(score, "state", None),
    "scores of trajectories": partial(score, "trajectory", 2),
}
