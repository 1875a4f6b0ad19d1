"""Chains of the No-U-Turn Sampler: nutpie, calling back into our compiled gradient.

nutpie swallows what a density function raises. So a log density or gradient that is not a number becomes an error that
nutpie knows to recover from (it counts as a divergence) and is counted here, and anything else is kept and raised again
when nutpie returns.

Handing a compiled function thirty arrays costs more than the gradient itself. So a problem, its data and a thread's
memory are packed into five flat ones; `kernels.log_density_gradient_packed` takes them apart without copying.
"""

import inspect
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from journeyman.errors import InferenceError
from journeyman.extras import require
from journeyman.inference import kernels
from journeyman.inference.chains import Chains, ChainSettings, no_start
from journeyman.inference.expert.target import ExpertTarget
from journeyman.inference.general import GeneralTarget
from journeyman.inference.target import LOG_2PI, Target
from journeyman.progress import progress_bar
from journeyman.types import AnyArray, BoolArray, FloatArray, IntArray

START_TRIES = 100
SETTLING_SECONDS = 1.0
Density = Callable[[FloatArray], tuple[float, FloatArray]]
STATS = {  # ours, which are ArviZ's, and nutpie's names
    "lp": "logp",
    "acceptance_rate": "mean_tree_accept",
    "step_size": "step_size",
    "tree_depth": "depth",
    "n_steps": "n_steps",
    "diverging": "diverging",
    "energy": "energy",
}
INT_FIELDS = (
    ("model", "common_indptr"),
    ("model", "extra_indptr"),
    ("model", "longer_rows"),
    ("model", "choice_states"),
    ("model", "feature_indptr"),
    ("model", "feature_columns"),
    ("data", "states"),
    ("work", "pi"),
    ("work", "num_updates"),
    ("work", "num_gradients"),
)
FLOAT_FIELDS = (
    ("model", "common_weights"),
    ("model", "extra_weights"),
    ("model", "first_weights"),
    ("model", "loops"),
    ("model", "missing"),
    ("model", "feature_values"),
    ("model", "offset"),
    ("data", "counts"),
    ("data", "totals"),
    ("work", "V"),
    ("work", "inverse"),
    ("work", "y"),
    ("work", "g"),
    ("work", "g_reward"),
    ("work", "reward"),
    ("work", "scratch"),
    ("work", "u"),
    ("work", "slope"),
    ("work", "q"),
    ("work", "action_values"),
    ("work", "powers"),
    ("work", "pending"),
    ("work", "pace"),
)
NUM_FLAGS = 3
NEXT_FIELDS = (("model", "common_next"), ("model", "extra_next"), ("model", "first_next"))


class Packed(NamedTuple):
    """header: sizes and flags, then the offsets of the fields in ints, floats and next states, in the order above."""

    header: IntArray
    ints: IntArray
    floats: FloatArray
    next_states: AnyArray
    available: BoolArray

    @property
    def num_gradients(self) -> int:
        """Gradients computed in this memory so far."""
        return int(self.ints[self.header[NUM_FLAGS + INT_FIELDS.index(("work", "num_gradients"))]])


def pack(target: Target) -> Packed:
    """Copy model, data and fresh memory into flat arrays; beta and the precision are the first of the floats."""
    model, work = target.model, target.new_work()
    parts = {"model": model, "data": target.data, "work": work}

    def gather(fields: tuple[tuple[str, str], ...], first: AnyArray) -> tuple[list[int], AnyArray]:
        arrays = [first, *(np.ravel(getattr(parts[owner], name)) for owner, name in fields)]
        return np.cumsum([array.size for array in arrays]).tolist(), np.concatenate(arrays)

    int_offsets, ints = gather(INT_FIELDS, np.zeros(0, dtype=np.int64))
    float_offsets, floats = gather(FLOAT_FIELDS, np.array([model.beta, model.precision]))
    next_offsets, next_states = gather(NEXT_FIELDS, np.zeros(0, dtype=np.int32))
    flags = [int(model.is_state_only), int(model.is_uniform), int(work.inverse.size > 0)]
    header = np.array([*flags, *int_offsets, *float_offsets, *next_offsets], dtype=np.int64)
    return Packed(header, ints, floats, next_states, np.array(model.available))


class NotFiniteError(ArithmeticError):
    """The log density or its gradient is not a number; nutpie reads the flag and rejects the trajectory."""

    is_recoverable = True


class Callbacks:
    """Makes the functions that nutpie calls, one memory per chain, and remembers what went wrong in them."""

    def __init__(self, target: Target | GeneralTarget) -> None:
        self.target = target
        self.num_general = 0  # gradients of a general target
        self.memories: list[Packed] = []
        self.works: list[Any] = []  # of experts with unknown parameters
        self.num_recoveries = 0
        self.failures: list[BaseException] = []

    @property
    def num_gradients(self) -> int:
        """Gradients computed so far, over all chains."""
        counted = sum(packed.num_gradients for packed in self.memories)
        return self.num_general + counted + sum(int(work.num_gradients[0]) for work in self.works)

    def make_density(self) -> Density:
        """Return a function from z to the log density and its gradient, with its own memory."""
        isfinite = math.isfinite  # found faster here: this runs for every gradient
        evaluate = self.make_evaluation()

        def density(z: FloatArray) -> tuple[float, FloatArray]:
            nonlocal evaluate
            try:
                value, gradient = evaluate(z)
            except BaseException as error:
                self.failures.append(error)
                raise
            if isfinite(value) and isfinite(gradient.dot(gradient)):
                return value, gradient
            self.num_recoveries += 1
            evaluate = self.make_evaluation()  # what the old memory holds may not be numbers
            raise NotFiniteError(f"log density {value}, gradient {gradient}")

        return density

    def make_evaluation(self) -> Density:
        """Return the same function with fresh memory, before anything is checked; its constant is left out."""
        target = self.target
        if isinstance(target, GeneralTarget):
            constant = 0.5 * target.dimension * LOG_2PI

            def general(z: FloatArray) -> tuple[float, FloatArray]:
                self.num_general += 1
                value, gradient = target.log_density_and_gradient(z)
                return value + constant, gradient

            return general
        if isinstance(target, ExpertTarget):
            return self._expert_evaluation(target)
        kernel, dimension, memory, empty = kernels.log_density_gradient_packed, target.dimension, pack(target), np.empty
        self.memories.append(memory)

        def compiled(z: FloatArray) -> tuple[float, FloatArray]:
            gradient = empty(dimension)
            return kernel(*memory, z, gradient), gradient

        return compiled

    def _expert_evaluation(self, target: ExpertTarget) -> Density:
        """Return the function for experts with unknown parameters: it hands over all arrays, which takes longer."""
        evaluate, arguments, empty = target.gradient_fn.kernel, (target.model, target.data, target.new_work()), np.empty
        self.works.append(arguments[2])
        dimension = target.dimension

        def compiled(z: FloatArray) -> tuple[float, FloatArray]:
            gradient = empty(dimension)
            return evaluate(*arguments, z, gradient), gradient

        return compiled

    def make_expand(self, _seed: int, _other_seed: int, _chain: int) -> Callable[[FloatArray], dict[str, FloatArray]]:
        """Return the function from z to what is stored: z itself."""
        return lambda z: {"z": z}

    def initial_point(self, seed: int) -> FloatArray:
        """Return a draw of the prior where the density is a number."""
        rng = np.random.default_rng(seed)
        for _ in range(START_TRIES):
            z = rng.standard_normal(self.target.dimension)
            if self.has_density(z):
                return z
        raise no_start("none that is")

    def has_density(self, z: FloatArray) -> bool:
        """Whether log density and gradient are numbers at z, small enough to be squared."""
        value, gradient = self.target.log_density_and_gradient(z)
        with np.errstate(over="ignore", invalid="ignore"):
            return math.isfinite(value) and math.isfinite(gradient.dot(gradient))


def nuts_chains(
    target: Target | GeneralTarget, settings: ChainSettings, *, seed: int, num_threads: int, progress: bool | None
) -> Chains:
    """Sample with nutpie; the same for a seed whatever the number of threads."""
    require("arviz", "mcmc")
    nutpie: Any = require("nutpie", "mcmc")
    callbacks = Callbacks(target)
    callbacks.initial_point(seed)  # refuse before nutpie has started threads, which outlive a failure
    model = nutpie.compiled_pyfunc.from_pyfunc(
        target.dimension,
        callbacks.make_density,
        callbacks.make_expand,
        [np.dtype(np.float64)],
        [(target.dimension,)],
        ["z"],
        make_initial_point_fn=callbacks.initial_point,
    )
    sampler = nutpie.sample(
        model,
        tune=settings.num_warmup,
        draws=settings.num_draws,
        chains=settings.num_chains,
        cores=min(num_threads, settings.num_chains),
        seed=seed,
        progress_bar=bool(progress),
        target_accept=settings.target_accept,
        blocking=False,
        **variance_scales(nutpie.sample),
    )
    with progress_bar("Sampling by NUTS", is_shown=None if progress is None else False):  # else it has a bar of its own
        trace = _waited_for(sampler, callbacks)
    positions = np.asarray(trace["posterior"]["z"], dtype=np.float64)
    wanted = (settings.num_chains, settings.num_draws, target.dimension)
    if positions.shape != wanted or not np.isfinite(positions).all():
        raise InferenceError(
            f"chains must give draws of shape {wanted}, got {positions.shape}, some of them not numbers: a chain has "
            "failed. Use sampler='hmc' or method 'smc'."
        )
    stats = {name: np.asarray(trace["sample_stats"][theirs]) for name, theirs in STATS.items()}
    stats["lp"] = stats["lp"] - 0.5 * target.dimension * LOG_2PI
    return Chains(positions, stats, callbacks.num_gradients, callbacks.num_recoveries)


def variance_scales(sample_fn: Callable[..., Any]) -> dict[str, Any]:
    """Return the option that makes nutpie take scales from the draws' variance, by the name that its version knows."""
    if "adaptation" in inspect.signature(sample_fn).parameters:
        return {"adaptation": "draw_diag"}
    return {"use_grad_based_mass_matrix": False}


def _waited_for(sampler: Any, callbacks: Callbacks) -> Any:
    """Return the trace, or raise what really happened."""
    try:
        trace = sampler.wait()
    except (KeyboardInterrupt, SystemExit):  # what was drawn so far is no posterior
        sampler.cancel()
        raise
    except BaseException as error:  # a panic of nutpie is no Exception
        time.sleep(SETTLING_SECONDS)  # its other threads go on for a while, and must not meet a closing interpreter
        if callbacks.failures:
            raise callbacks.failures[0] from None
        if callbacks.num_recoveries:
            raise no_start("none that is") from error
        first_line = str(error).partition("\n")[0]
        raise InferenceError(f"sampling with nutpie failed: {first_line}. Use sampler='hmc' or 'smc'.") from error
    if callbacks.failures:
        raise callbacks.failures[0]
    return trace
