"""`journeyman warmup`: compile everything now, so that nothing waits for it later."""

import time
from collections.abc import Callable
from typing import Any

HELP = """Compile everything now, so that no later command waits for it.

What is compiled is kept for later processes. Without this, each command compiles what it needs when it first needs \
it, which takes some seconds once.
"""
EPILOG = "Example: [bold]journeyman warmup[/], once after journeyman was installed or updated."


def warmup() -> None:
    """Run each part on a small problem, and say what that compiled."""
    from journeyman.compiling import CACHE, COMPILATION

    COMPILATION.is_silent = True
    for name, run in PARTS.items():
        print(f"{name} ...", end=" ", flush=True)
        begin, before = time.perf_counter(), COMPILATION.num_compiled
        run()
        count, seconds = COMPILATION.num_compiled - before, time.perf_counter() - begin
        print(f"{count} functions compiled in {seconds:.0f} s" if count else "compiled already", flush=True)
    if not CACHE:
        print("Nothing can be kept: neither the package's folder nor one of yours can be written. Set NUMBA_CACHE_DIR.")


def solve_worlds() -> None:
    """Solve by policy iteration, by sweeps, one and many rewards at once, and evaluate a policy."""
    import numpy as np

    from journeyman.mdp import evaluate_policy, solve_batch
    from journeyman.worlds import make_world

    for name, options in (("jail", {}), ("random-grid", {"size": 5})):
        mdp = make_world(name, 0, **options).problem.mdp
        rewards = np.random.default_rng(0).standard_normal((8, mdp.num_states))
        for method in ("direct", "sweeps"):
            solution = solve_batch(mdp, rewards, method=method)
        evaluate_policy(mdp, solution.policy[0], rewards[0])


def infer_by(method: str, **options: Any) -> Callable[[], None]:
    """Return a function that infers the reward of a small world."""

    def run() -> None:
        from journeyman.demonstrations import Demonstration
        from journeyman.inference import infer
        from journeyman.worlds import make_world

        problem = make_world("random-grid", 0, size=3).problem
        states = [state for state in range(9) if not problem.mdp.terminal[state]]
        demonstrations = [Demonstration(state, ((state, action),)) for state in states for action in (0, 0, 1)]
        infer(problem, demonstrations, method, num_threads=1, **options)

    return run


def infer_by_sparse_rows() -> None:
    """Compile the gradient of large problems."""
    from journeyman.inference.target import Target
    from journeyman.worlds import make_world

    assert Target(make_world("random-grid", 0, size=3).problem, engine="sparse").gradient_fn.signature()


def score_states() -> None:
    """Score states and trajectories by what their answers tell."""
    from journeyman.acquisition import score
    from journeyman.inference import infer
    from journeyman.worlds import make_world

    posterior = infer(make_world("random-grid", 0, size=3).problem, (), num_particles=100, num_threads=1)
    for name in ("reward_eig", "pac_eig", "action_entropy"):
        for kind, length in (("state", None), ("trajectory", 2)):
            score(posterior, name, kind=kind, length=length, num_histories=4, num_threads=1)


PARTS: dict[str, Callable[[], None]] = {
    "solving": solve_worlds,
    "inference by smc": infer_by("smc", num_particles=100),
    "inference on large problems": infer_by_sparse_rows,
    "inference by policywalk": infer_by("policywalk", sampler="hmc", num_chains=1, num_warmup=10, num_draws=10),
    "inference by valuewalk": infer_by("valuewalk", num_chains=1, num_warmup=10, num_draws=10),
    "acquisition": score_states,
}
