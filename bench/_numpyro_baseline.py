"""The program a user would otherwise write: NumPyro NUTS over a JAX value-iteration model of the Boltzmann expert.

Import it before JAX: it keeps XLA to one thread. It gets every fair advantage: everything is compiled ahead, the data
are counts, rewards depend on the state only, nothing is computed for progress bars, and the fastest of several forms of
the model is used. These are

- unrolled: so many sweeps that the start is forgotten to TOLERANCE, differentiated by JAX;
- implicit: sweeps until values change by no more than TOLERANCE, and one linear solve for the gradient;
- each with transitions as a matrix, or as a list of successors (at most 5 on a grid).

POLICY_ITERATION, which is no value iteration any more, is there to be shown beside them.
"""

import os
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

if "jax" in sys.modules:
    raise RuntimeError("_numpyro_baseline must be imported before jax, which reads its flags only once.")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_PLATFORMS"] = "cpu"

# isort: split
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro import distributions
from numpyro.infer import NUTS

from journeyman.problem import Problem
from journeyman.rewards import Normal

jax.config.update("jax_enable_x64", True)

TOLERANCE = 1e-9
POLICY_ITERATION = "policy iteration, matrix"
FORMS = ("unrolled, matrix", "unrolled, successors", "implicit, matrix", "implicit, successors")

Backup = Callable[[Any, Any], Any]  # (rewards [S], values [S]) -> Q [S, A]


class Run(NamedTuple):
    """Samples `[chains, draws, D]`, seconds to compile, and seconds of warm-up and draws together, of all chains."""

    samples: np.ndarray
    seconds_compile: float
    seconds_sampling: float


class Chain(NamedTuple):
    """One chain: draws `[N, D]`, seconds (on the clock, and of the processor) and gradients that they took."""

    draws: np.ndarray
    seconds_warmup: float
    seconds_draws: float
    cpu_warmup: float
    cpu_draws: float
    num_gradients_warmup: int
    num_gradients_draws: int
    num_divergences: int


def transitions_of(problem: Problem) -> np.ndarray:
    """Return discounted transitions `[S, A, S]`, after checking that this model fits the problem."""
    mdp = problem.mdp
    is_plain = (
        problem.reward_model.is_state_only
        and isinstance(problem.prior, Normal)
        and np.array_equal(problem.reward_model.reward(np.arange(mdp.num_states)), np.arange(mdp.num_states))
        and mdp.available.all()
    )
    if not is_plain:
        raise ValueError("the baseline covers one reward per state with a Normal prior, all actions available.")
    return mdp.discount * mdp.dense_transitions()


def backup_of(transitions: np.ndarray, with_matrix: bool) -> Backup:
    """Return the function that takes rewards and values to action values."""
    num_states, num_actions, _ = transitions.shape
    if with_matrix:
        matrix = jnp.asarray(transitions.reshape(num_states * num_actions, num_states))
        return lambda r, V: r[:, None] + (matrix @ V).reshape(num_states, num_actions)
    width = int((transitions > 0).sum(axis=2).max())
    order = np.argsort(-transitions, axis=2, kind="stable")[:, :, :width]
    successors, weights = jnp.asarray(order), jnp.asarray(np.take_along_axis(transitions, order, axis=2))
    return lambda r, V: r[:, None] + (weights * V[successors]).sum(axis=2)


def unrolled(transitions: np.ndarray, discount: float, backup: Backup) -> Callable[[Any], Any]:
    """Return r -> V* by a fixed number of sweeps."""
    num_sweeps = int(np.ceil(np.log(TOLERANCE) / np.log(discount)))

    def values(r: Any) -> Any:
        start = jnp.zeros(len(transitions))
        return jax.lax.scan(lambda V, _: (backup(r, V).max(axis=1), None), start, None, length=num_sweeps)[0]

    return values


def implicit(transitions: np.ndarray, backup: Backup, by_policies: bool) -> Callable[[Any], Any]:
    """Return r -> V* by sweeps, or policy iteration; its gradient is a linear solve with the greedy policy's rows."""
    rows, states = jnp.asarray(transitions), jnp.arange(len(transitions))

    def bellman_matrix(policy: Any) -> Any:
        return jnp.eye(len(transitions)) - rows[states, policy]

    def sweep(r: Any) -> tuple[Any, Any]:
        def body(state: tuple[Any, Any]) -> tuple[Any, Any]:
            V = backup(r, state[0]).max(axis=1)
            return V, jnp.abs(V - state[0]).max()

        V = jax.lax.while_loop(lambda state: state[1] > TOLERANCE, body, (r, jnp.inf))[0]
        return V, backup(r, V).argmax(axis=1)

    def iterate_policies(r: Any) -> tuple[Any, Any]:
        def body(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
            _, policy, _ = state
            V = jnp.linalg.solve(bellman_matrix(policy), r)
            q = backup(r, V)
            is_better = q.max(axis=1) > V + TOLERANCE * (1.0 + jnp.abs(V))
            return V, jnp.where(is_better, q.argmax(axis=1), policy), is_better.any()

        start = (r, backup(r, r).argmax(axis=1), True)
        V, policy, _ = jax.lax.while_loop(lambda state: state[2], body, start)
        return V, policy

    solve = iterate_policies if by_policies else sweep

    @jax.custom_vjp
    def values(r: Any) -> Any:
        return solve(r)[0]

    def backward(policy: Any, slope: Any) -> tuple[Any]:
        return (jnp.linalg.solve(bellman_matrix(policy).T, slope),)

    values.defvjp(solve, backward)
    return values


def log_likelihood_of(problem: Problem, form: str) -> Callable[[Any, Any], Any]:
    """Return (r, counts) -> log p(demonstrations | r), in one of FORMS."""
    method, layout = form.split(", ")
    transitions = transitions_of(problem)
    backup = backup_of(transitions, layout == "matrix")
    if method == "unrolled":
        values = unrolled(transitions, problem.mdp.discount, backup)
    else:
        values = implicit(transitions, backup, method == "policy iteration")

    def log_likelihood(r: Any, counts: Any) -> Any:
        return (counts * jax.nn.log_softmax(problem.beta * backup(r, values(r)), axis=1)).sum()

    return log_likelihood


def log_density_of(problem: Problem, form: str) -> Callable[[Any, Any], Any]:
    """Return (r, counts) -> log p(demonstrations | r) + log p(r)."""
    log_likelihood = log_likelihood_of(problem, form)
    prior = distributions.Normal(jnp.asarray(problem.prior.mean), jnp.asarray(problem.prior.std))
    return lambda r, counts: log_likelihood(r, counts) + prior.log_prob(r).sum()


def evaluate(problem: Problem, counts: np.ndarray, form: str, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log densities `[N]` and gradients `[N, D]` at rewards `[N, D]`, to check them against others."""
    function = jax.jit(jax.value_and_grad(log_density_of(problem, form)))
    pairs = [function(jnp.asarray(r), jnp.asarray(counts, dtype=float)) for r in theta]
    return np.array([float(value) for value, _ in pairs]), np.array([np.asarray(gradient) for _, gradient in pairs])


def seconds_per_gradient(
    problem: Problem, counts: np.ndarray, theta: np.ndarray, num_gradients: int = 100
) -> dict[str, float]:
    """Return processor seconds per gradient in each form, in a compiled loop of small steps from `theta` `[N, D]`."""
    data = jnp.asarray(counts, dtype=float)
    loops = {form: _compiled_loop(problem, form, data, num_gradients) for form in (*FORMS, POLICY_ITERATION)}
    seconds: dict[str, list[float]] = {form: [] for form in loops}
    for r in theta:
        for form, loop in loops.items():
            start = time.process_time()
            loop(jnp.asarray(r)).block_until_ready()
            seconds[form].append((time.process_time() - start) / num_gradients)
    return {form: float(np.median(times)) for form, times in seconds.items()}


def _compiled_loop(problem: Problem, form: str, data: Any, num_gradients: int) -> Any:
    gradient = jax.grad(log_density_of(problem, form))

    def body(_: Any, r: Any) -> Any:
        slope = gradient(r, data)
        return r + 1e-3 * slope / (1.0 + jnp.abs(slope))

    loop = jax.jit(lambda r: jax.lax.fori_loop(0, num_gradients, body, r))
    return loop.lower(jnp.zeros(problem.prior.num_parameters)).compile()


class Sampler:
    """NUTS for one problem and any counts, compiled ahead."""

    def __init__(self, problem: Problem, num_warmup: int, num_draws: int, form: str) -> None:
        log_likelihood = log_likelihood_of(problem, form)
        mean, std = jnp.asarray(problem.prior.mean), jnp.asarray(problem.prior.std)

        def model(counts: Any) -> None:
            r = numpyro.sample("r", distributions.Normal(mean, std).to_event(1))
            numpyro.factor("expert", log_likelihood(r, counts))

        kernel = NUTS(model)

        def warm_up(key: Any, counts: Any) -> tuple[Any, Any]:
            def body(_: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
                state = kernel.sample(carry[0], (counts,), {})
                return state, carry[1] + state.num_steps

            state = kernel.init(key, num_warmup, None, (counts,), {})
            return jax.lax.fori_loop(0, num_warmup, body, (state, 0))

        def draw(state: Any, counts: Any) -> tuple[Any, Any, Any]:
            def body(state: Any, _: None) -> tuple[Any, tuple[Any, Any, Any]]:
                state = kernel.sample(state, (counts,), {})
                return state, (state.z["r"], state.num_steps, state.diverging)

            return jax.lax.scan(body, state, None, length=num_draws)[1]

        start = time.perf_counter()
        key, counts = jax.random.PRNGKey(0), jnp.zeros((problem.mdp.num_states, problem.mdp.num_actions))
        kernel.init(key, num_warmup, None, (counts,), {})
        self.warm_up = jax.jit(warm_up).lower(key, counts).compile()
        state, _ = jax.eval_shape(warm_up, key, counts)
        self.draw = jax.jit(draw).lower(state, counts).compile()
        self.seconds_compile = time.perf_counter() - start

    def chain(self, counts: np.ndarray, key: Any) -> Chain:
        """Run one chain from a fresh start."""
        data = jnp.asarray(counts, dtype=float)
        clocks = [(time.perf_counter(), time.process_time())]
        state, num_warmup_steps = jax.block_until_ready(self.warm_up(key, data))
        clocks.append((time.perf_counter(), time.process_time()))
        draws, num_steps, diverging = jax.block_until_ready(self.draw(state, data))
        clocks.append((time.perf_counter(), time.process_time()))
        (seconds_warmup, cpu_warmup), (seconds_draws, cpu_draws) = np.diff(clocks, axis=0).tolist()
        numbers = (int(num_warmup_steps), int(num_steps.sum()), int(diverging.sum()))
        return Chain(np.asarray(draws), seconds_warmup, seconds_draws, cpu_warmup, cpu_draws, *numbers)


def chain_key(seed: int, chain: int) -> Any:
    """Return the key of one chain of a run."""
    return jax.random.fold_in(jax.random.PRNGKey(seed), chain)


def choose_form(problem: Problem, counts: np.ndarray) -> tuple[str, dict[str, float]]:
    """Return the one of FORMS with the fastest gradient at draws of the prior, and what all take."""
    seconds = seconds_per_gradient(problem, counts, problem.prior.sample(np.random.default_rng(0), 7))
    return min(FORMS, key=lambda form: seconds[form]), seconds


def run(
    problem: Problem,
    counts: np.ndarray,
    num_warmup: int,
    num_draws: int,
    num_chains: int,
    seed: int,
    form: str | None = None,
) -> Run:
    """Run chains one after the other; the number of cores is the caller's affair. Default: the fastest form."""
    sampler = Sampler(problem, num_warmup, num_draws, form or choose_form(problem, counts)[0])
    chains = [sampler.chain(counts, chain_key(seed, c)) for c in range(num_chains)]
    seconds = sum(chain.seconds_warmup + chain.seconds_draws for chain in chains)
    return Run(np.stack([chain.draws for chain in chains]), sampler.seconds_compile, seconds)


_SAMPLERS: dict[str, Sampler] = {}


def prepare(name: str, problem: Problem, num_warmup: int, num_draws: int, form: str) -> float:
    """Keep a compiled sampler in this process under a name, for `next_chain`; return the seconds that it took."""
    _SAMPLERS[name] = Sampler(problem, num_warmup, num_draws, form)
    return _SAMPLERS[name].seconds_compile


def next_chain(name: str, counts: np.ndarray, seed: int, chain: int) -> Chain:
    """Run one chain of the sampler kept under a name."""
    return _SAMPLERS[name].chain(counts, chain_key(seed, chain))
