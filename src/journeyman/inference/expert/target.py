"""ExpertTarget: the compiled log posterior where the expert has unknown parameters, lapses, soft values or annotators.

Positions z `[D + E]`: the last E are coordinates of the expert's parameters, which are standard normal under the prior
as all others. With soft values there is one engine, and `values` of a point are the soft ones, of each annotator one
after the other: `[G * S]`.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from journeyman.demonstrations import Demonstration
from journeyman.experts import Boltzmann
from journeyman.experts.priors import NUM_NODES
from journeyman.inference import kernels as known_kernels
from journeyman.inference.expert import kernels
from journeyman.inference.expert.kernels import ExpertData, ExpertModel, ExpertWork
from journeyman.inference.likelihood import is_soft
from journeyman.inference.target import Target, data_of, known_map, model_of, whole_parts
from journeyman.mdp.elimination import Elimination, elimination_of
from journeyman.problem import Problem
from journeyman.types import FloatArray


class ExpertTarget(Target):
    """Log posterior density of reward and expert given counts; parameters as of `Target`."""

    def __init__(
        self, problem: Problem, counts: ArrayLike | Iterable[Demonstration] | None = None, *, engine: str = "auto"
    ) -> None:
        self._set_engine(problem, engine)
        self.problem = problem
        self.model = expert_model_of(problem)
        self.data = self._grouped(counts)

    @property
    def is_soft(self) -> bool:
        """Whether the expert acts on soft values."""
        return is_soft(self.problem)

    @property
    def values_size(self) -> int:
        """Numbers that are the values of a point: S, or S for each annotator."""
        num_states = self.problem.mdp.num_states
        return num_states * self.problem.expert_space.num_groups if self.is_soft else num_states

    @cached_property
    def gradient_fn(self) -> known_kernels.GradientFunction:
        """Log density and gradient at a point, compiled, as kernels take it."""
        kernel = kernels.expert_dense_gradient if self.is_dense else kernels.expert_sparse_gradient
        point = np.empty(self.dimension)
        return known_kernels.gradient_function(
            kernels.soft_gradient if self.is_soft else kernel, self.model, self.data, self.new_work(), point, point
        )

    @cached_property
    def _elimination(self) -> Elimination:
        return elimination_of(self.problem.mdp)

    def _grouped(self, counts: Any, *, is_change: bool = False) -> Any:
        data, sizes = data_of(self.problem, counts, is_change=is_change)
        ends = np.cumsum(sizes)
        answers = np.array([part.sum() for part in np.split(data.totals, ends[:-1])])
        shares = answers / answers.sum() if answers.sum() > 0.0 else np.full(len(sizes), 1.0 / len(sizes))
        return ExpertData(*data, np.concatenate([[0], ends]).astype(np.int64), shares)

    def new_work(self) -> Any:
        """Return fresh memory for one thread."""
        space, (num_states, num_actions) = self.problem.expert_space, self.model.available.shape
        work = super().new_work()
        if self.is_soft:
            work = work._replace(
                pi=np.zeros(self.values_size, dtype=np.int64),
                V=np.zeros(self.values_size),
                inverse=np.zeros((0, 0)),
            )
        return ExpertWork(
            *work,
            parameters=np.zeros((space.num_groups, 2)),
            link_slopes=np.zeros(space.size),
            slopes=np.zeros((space.num_groups, 2)),
            gaps=np.zeros(num_states * num_actions),
            policy=np.zeros((num_states, num_actions)),
            elimination=self._elimination.fresh() if self.is_soft else None,
        )

    def with_usual_beta(self, beta: float) -> "ExpertTarget":
        """Return the target whose chains hold beta in their trajectories, in steps that are for this one."""
        return self._with_model(usual_beta=float(beta))

    def log_likelihood(self, positions: FloatArray, values: FloatArray) -> FloatArray:
        """Return the log likelihood `[N]` at points `[N, D + E]` whose values are known: no solving."""
        out, work, positions = np.empty(len(positions)), self.new_work(), np.ascontiguousarray(positions)
        for at in whole_parts(values):
            exact = np.ascontiguousarray(values[at], dtype=np.float64)
            kernels.expert_log_likelihoods(self.model, self.data, work, positions[at], exact, out[at])
        return out


def expert_model_of(problem: Problem) -> Any:
    """Gather what kernels need; the beta of the model is 1, since each annotator may have another."""
    expert, mdp, space = problem.expert, problem.mdp, problem.expert_space
    assert isinstance(expert, Boltzmann)
    model = model_of(problem, known_map(problem), beta=1.0)
    names = list(space.single_names)
    tables = [one.table for one in space.maps]
    return ExpertModel(
        *model,
        num_rewards=problem.reward_model.num_parameters,
        num_groups=space.num_groups,
        tables=np.array(tables) if tables else np.zeros((0, NUM_NODES, 2)),
        beta_index=names.index("beta") if "beta" in names else -1,
        lapse_index=names.index("lapse") if "lapse" in names else -1,
        known_beta=expert.beta if isinstance(expert.beta, float) else 1.0,
        known_lapse=expert.lapse if isinstance(expert.lapse, float) else 0.0,
        has_lapse=expert.lapse != 0.0,
        num_available=mdp.available.sum(axis=1).astype(np.float64),
        row_indptr=mdp.rows.indptr,
        row_next=mdp.rows.next_states,
        row_probabilities=mdp.rows.probabilities,
        discount=float(mdp.discount),
        terminal=mdp.terminal,
        usual_beta=0.0,
    )


def effective_betas(target: ExpertTarget, positions: FloatArray) -> FloatArray:
    """Return the beta `[N]` that the curvature of the likelihood goes with: the root mean square over annotators."""
    problem, space, model = target.problem, target.problem.expert_space, target.model
    if model.beta_index < 0:
        return np.full(len(positions), model.known_beta)
    parameters = space.natural(problem.split(positions)[1])
    betas = parameters[:, model.beta_index :: len(space.maps)]
    return np.asarray(np.sqrt(betas**2 @ target.data.group_shares))
