"""Value space: which x belongs to which reward, and the planes on which actions tie."""

from collections import defaultdict

import numpy as np
from scipy import sparse

from journeyman.inference.chains import MAX_LEAPFROG, Part, Plan, Walk
from journeyman.inference.kernels import Model
from journeyman.inference.target import Target
from journeyman.inference.valuewalk import kernels
from journeyman.inference.valuewalk.kernels import Memory, Space
from journeyman.mdp import q_values, solve_batch
from journeyman.problem import Problem
from journeyman.rewards import AffineMap, continuous
from journeyman.types import BoolArray, FloatArray, IntArray

JUMPS = {"refract": kernels.REFRACT, "accept": kernels.ACCEPT}
NUM_PILOTS = 200  # draws of the prior whose optimal policies are averaged
TRAJECTORY_LENGTH = 3.0  # in scaled units; of 1.5, 2, 3 and 4.5 the best with 0, 20 and 60 answers on 8x8
SAME = 1e-9  # entries of rows closer than this count as equal


def is_action_space(problem: Problem) -> bool:
    """Return whether the walk is over Q, else over V."""
    return not problem.reward_model.is_state_only


def values_of_rewards(problem: Problem, rewards: FloatArray, num_threads: int | None) -> FloatArray:
    """Return the points x `[M, N]` of rewards `[M, S]` or `[M, S, A]`."""
    values = solve_batch(problem.mdp, rewards, num_threads=num_threads).values
    if not is_action_space(problem):
        return values
    q = q_values(problem.mdp, rewards, values)
    return np.where(problem.mdp.available, q, rewards).reshape(len(values), -1)


def rewards_of_values(problem: Problem, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return rewards `[M, N]` and optimal values `[M, S]` of points x `[M, N]`: exact, nothing is solved."""
    mdp = problem.mdp
    is_q = is_action_space(problem)
    q = x.reshape(len(x), mdp.num_states, -1)
    values = np.where(mdp.available, q, -np.inf).max(axis=2) if is_q else x
    next_values = q_values(mdp, np.zeros((len(x), mdp.num_states)), values)
    if is_q:
        return np.where(mdp.available, q - next_values, q).reshape(len(x), -1), values
    return x - next_values.max(axis=2), x


def space_of(problem: Problem, model: Model, jumps: int) -> Space:
    """Gather what the walk needs to know."""
    size = problem.reward_model.num_parameters
    affine = known_map(problem)
    kind, mean = kernels.NORMAL, affine.location
    if affine.is_uniform:
        kind, precision = kernels.UNIFORM, (affine.location + affine.matrix)[:, None]
    elif affine.matrix.ndim == 2:
        inverse = np.linalg.inv(affine.matrix)
        kind, precision = kernels.CORRELATED, inverse.T @ inverse
    else:
        precision = affine.matrix[:, None] ** -2.0
    is_q = is_action_space(problem)
    is_distinct, plane_of, planes = tie_planes(model, is_q)
    sizes = [len(members) for members in planes]
    members = np.array([member for plane in planes for member in plane], dtype=np.int64).reshape(-1, 3)
    return Space(
        is_q=is_q,
        kind=kind,
        mean=np.broadcast_to(mean, size).astype(np.float64),
        precision=np.array(precision, dtype=np.float64, order="C"),  # writable: kernels are compiled once
        is_distinct=is_distinct,
        plane_of=plane_of,
        plane_indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        plane_states=np.ascontiguousarray(members[:, 0]),
        plane_first=np.ascontiguousarray(members[:, 1]),
        plane_second=np.ascontiguousarray(members[:, 2]),
        jumps=jumps,
        mixing=mixing_of(problem),
    )


def mixing_of(problem: Problem) -> FloatArray:
    """Return the matrix `[N, N]` by which nearly independent coordinates become x.

    With the average optimal policy of draws from the prior instead of the optimal one, x would be a linear function of
    the reward: this is its matrix, times the scales of the prior. Any invertible matrix is as exact; with this one a
    step is three to four times as long as with one scale per parameter.
    """
    mdp, prior = problem.mdp, problem.prior
    num_rows = mdp.num_states * mdp.num_actions
    rng = np.random.default_rng(0)  # a matter of tuning, the same for every seed
    policies = solve_batch(mdp, problem.reward_model.reward(prior.sample(rng, NUM_PILOTS)), num_threads=1).policy
    average = np.stack([(policies == a).mean(axis=0) for a in range(mdp.num_actions)], axis=1)
    rows = mdp.discount * mdp.transition_matrix
    states = np.repeat(np.arange(mdp.num_states), mdp.num_actions)
    choice = sparse.csr_array((average.ravel(), (states, np.arange(num_rows))), shape=(mdp.num_states, num_rows))
    inverse = np.linalg.inv(np.eye(mdp.num_states) - (choice @ rows).toarray())
    if is_action_space(problem):
        inverse = np.eye(num_rows) + rows @ (inverse @ choice)
    matrix = known_map(problem).matrix
    return np.ascontiguousarray(inverse @ matrix if matrix.ndim == 2 else inverse * prior.std)


def known_map(problem: Problem) -> AffineMap:
    """Return the map of the prior; `refusal` has made sure that there is one."""
    affine = continuous(problem.prior).affine_map()
    assert affine is not None
    return affine


def tie_planes(model: Model, is_q: bool) -> tuple[BoolArray, IntArray, list[list[tuple[int, int, int]]]]:
    """Return which actions are distinct `[S, A]`, the plane of two of them `[S, A, A]`, and the members of each plane.

    Two pairs of actions share a plane if their rows differ in the same direction.
    """
    num_states, num_actions = model.available.shape
    is_distinct = model.available.copy()
    plane_of = np.full((num_states, num_actions, num_actions), -1, dtype=np.int64)
    planes: dict[object, list[tuple[int, int, int]]] = defaultdict(list)
    numbers: dict[object, int] = {}
    for s in range(num_states):
        for b in np.flatnonzero(model.available[s]).tolist():
            for a in np.flatnonzero(is_distinct[s, :b]).tolist():
                direction = (s, a, b) if is_q else difference_of_rows(model, s, a, b)
                if direction == ():
                    is_distinct[s, b] = False
                    break
        for b in np.flatnonzero(is_distinct[s]).tolist():
            for a in np.flatnonzero(is_distinct[s, :b]).tolist():
                direction = (s, a, b) if is_q else difference_of_rows(model, s, a, b)
                number = numbers.setdefault(direction, len(numbers))
                planes[direction].append((s, a, b))
                plane_of[s, a, b] = plane_of[s, b, a] = number
    return is_distinct, plane_of, [planes[direction] for direction in numbers]


def difference_of_rows(model: Model, s: int, a: int, b: int) -> tuple[tuple[int, float], ...]:
    """Return the direction in which the rows of two actions differ, as (next state, part); empty if they do not."""
    total: dict[int, float] = defaultdict(float)
    for action, sign in ((a, 1.0), (b, -1.0)):
        row = s * model.available.shape[1] + action
        for k in range(model.extra_indptr[row], model.extra_indptr[row + 1]):
            total[int(model.extra_next[k])] += sign * float(model.extra_weights[k])
    kept = {state: part for state, part in sorted(total.items()) if abs(part) > SAME}
    if not kept:
        return ()
    unit = next(iter(kept.values()))
    return tuple((state, round(part / unit, 9)) for state, part in kept.items())


class ValueWalk(Walk):
    """Value space of a target, with the memory of one chain. Draws come out as y, where x = mixing y."""

    length = TRAJECTORY_LENGTH

    def __init__(self, target: Target, space: Space) -> None:
        super().__init__(target.dimension)
        self.target, self.space = target, space
        self.work = target.new_work()
        self.memory = new_memory(target.model, space, self.dimension)

    def start(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Return the x of a draw from the prior, and scales for y."""
        problem = self.target.problem
        reward = problem.reward_model.reward(problem.prior.sample(rng, 1))
        return values_of_rewards(problem, reward, 1)[0].copy(), np.ones(self.dimension)

    def advance(self, position: FloatArray, plan: Plan, part: Part) -> None:
        """Move in compiled code."""
        where = (self.target.model, self.target.data, self.space, self.work, self.memory, position)
        kernels.value_chain(*where, *plan, MAX_LEAPFROG, *part)
        part.positions[:] = np.linalg.solve(self.space.mixing, part.positions.T).T
        self.num_gradients = int(self.work.num_gradients[0])


def new_memory(model: Model, space: Space, dimension: int) -> Memory:
    """Return scratch for one chain."""
    num_states, num_actions = model.available.shape
    plane_sizes = np.diff(space.plane_indptr)
    largest = int(plane_sizes.max()) if plane_sizes.size else 1
    return Memory(
        reward=np.zeros(dimension),
        slope=np.zeros(dimension),
        gradient_v=np.zeros(num_states),
        values=np.zeros(num_states),
        velocity=np.zeros(dimension),
        normal=np.zeros(dimension),
        mixed=np.zeros(dimension),
        lines=np.zeros((num_states, num_actions)),
        speeds=np.zeros((num_states, num_actions)),
        group_states=np.zeros(largest, dtype=np.int64),
        group_actions=np.zeros(largest, dtype=np.int64),
        ratio=np.zeros((largest, largest)),
        saved_inverse=np.zeros((num_states, num_states)),
        saved_pi=np.zeros(num_states, dtype=np.int64),
        events=np.zeros(3, dtype=np.int64),
    )
