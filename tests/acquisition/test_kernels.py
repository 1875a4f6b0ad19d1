"""Each kernel against a plain-NumPy twin."""

import numpy as np
import pytest
from acquisition.exact import class_masses, entropy, information, small_posterior

from journeyman.acquisition import kernels

ROUNDING = 1e-12  # sums of at most a few hundred numbers of size 1


def random_policies(rng, num_samples, num_actions):
    """P `[A, M]` with some zeros, its entropies `[M]`, and weights `[M]` with some zeros."""
    P = rng.exponential(size=(num_actions, num_samples)) * (rng.random((num_actions, num_samples)) < 0.8)
    P[0] += 1e-3
    P /= P.sum(axis=0)
    w = rng.dirichlet(np.ones(num_samples)) * (rng.random(num_samples) < 0.9)
    return P, np.array([entropy(column) for column in P.T]), w / w.sum()


def information_twin(P, w, labels):
    return information((w * P) @ class_masses(labels))


@pytest.mark.parametrize("seed", range(10))
def test_expected_information(seed):
    rng = np.random.default_rng(seed)
    num_samples, num_actions = int(rng.integers(2, 40)), int(rng.integers(1, 6))
    P, H, w = random_policies(rng, num_samples, num_actions)
    labels = np.unique(rng.integers(0, 5, num_samples), return_inverse=True)[1]
    mean = np.empty(num_actions)
    sums = np.empty((labels.max() + 1, num_actions))
    coarse = kernels.expected_information(P, H, w, labels, False, mean, sums)
    fine = kernels.expected_information(P, H, w, np.arange(num_samples), True, mean, sums)
    assert coarse == pytest.approx(information_twin(P, w, labels), abs=ROUNDING)
    assert fine == pytest.approx(information_twin(P, w, np.arange(num_samples)), abs=ROUNDING)
    assert mean == pytest.approx(P @ w, abs=ROUNDING)
    assert fine >= coarse - ROUNDING


def test_state_information_averages_over_histories():
    rng = np.random.default_rng(0)
    parts = [random_policies(rng, 7, 3) for _ in range(4)]
    P, H = np.stack([p for p, _, _ in parts]), np.stack([h for _, h, _ in parts])
    weights, chances = rng.dirichlet(np.ones(7), 3), rng.dirichlet(np.ones(3))
    labels = np.array([[0, 1, 2, 0, 1, 2, 0]] * 2 + [[0, 0, 0, 0, 1, 1, 1]] * 2)
    out = np.empty(4)
    kernels.state_information(P, H, weights, chances, labels, labels.max(axis=1) + 1, False, out)
    twin = [
        sum(c * information_twin(P[s], w, labels[s]) for w, c in zip(weights, chances, strict=True)) for s in range(4)
    ]
    assert out == pytest.approx(twin, abs=ROUNDING)
    kernels.state_information(P, H, weights, chances, labels[:1], np.array([3]), False, out)
    assert out[3] == pytest.approx(
        sum(c * information_twin(P[3], w, labels[0]) for w, c in zip(weights, chances, strict=True)), abs=ROUNDING
    )


def test_draw_never_gives_an_impossible_index():
    masses = np.array([0.0, 0.25, 0.0, 0.75, 0.0])
    assert [kernels.draw(masses, u) for u in (0.0, 0.2499, 0.25, 0.999999, 1.0)] == [1, 1, 3, 3, 3]


def test_draw_next_ends_where_mass_is_missing_and_not_by_rounding():
    indptr, next_states = np.array([0, 2, 4, 4]), np.array([1, 2, 0, 2], dtype=np.int32)
    probabilities = np.array([0.5, 0.3, 0.1, 0.9 - 1e-16])
    arguments = (indptr, next_states, probabilities, 1)
    assert [kernels.draw_next(0, 0, *arguments, u) for u in (0.1, 0.6, 0.85)] == [1, 2, -1]
    assert kernels.draw_next(1, 0, *arguments, 1.0 - 1e-17) == 2
    assert kernels.draw_next(2, 0, *arguments, 0.0) == -1


def walk_twin(P, labels, root, mdp, start, length, uniforms, is_factorised):
    """One walk at a time; the same random numbers as the kernel."""
    results = []
    for u in uniforms:
        w, s, total = root.copy(), start, 0.0
        i = int(np.searchsorted(np.cumsum(w), u[0], side="right"))
        for t in range(length):
            if s is None or mdp.terminal[s]:
                break
            mean = P[s] @ w
            own = labels[s if len(labels) > 1 else 0]
            a = int(np.searchsorted(np.cumsum(P[s][:, i]), u[1 + 2 * t], side="right"))
            same = own == own[i]
            total += np.log((P[s][a] * w)[same].sum() / w[same].sum() / mean[a])
            if not is_factorised:
                w = w * P[s][a] / mean[a]
            next_states, chances = mdp.next_states(s, a)
            k = int(np.searchsorted(np.cumsum(chances), u[2 + 2 * t], side="right"))
            s = int(next_states[k]) if k < len(next_states) else None
        results.append(total)
    return np.array(results)


def tree_twin(P, labels, root, mdp, start, length, uniforms):
    """A tree of walks level by level; return the average information, and the ends as (weights, count)."""
    num_walks, total, ends = uniforms.shape[1], 0.0, []
    level = [(root, start, num_walks)]
    for t in range(length):
        following = []
        for (w, s, count), u in zip(level, uniforms[t], strict=False):
            if s is None or mdp.terminal[s]:
                ends.append((w, count))
                continue
            total += count * information_twin(P[s], w, labels[s if len(labels) > 1 else 0])
            outcomes = []
            for a, chance in enumerate(P[s] @ w):
                if chance > 0:
                    next_states, chances = mdp.next_states(s, a)
                    after = w * P[s][a] / chance
                    places = list(zip(next_states.tolist(), chances.tolist(), strict=True))
                    if 1.0 - chances.sum() > 1e-12:
                        places.append((None, 1.0 - chances.sum()))
                    places = [(None, 1.0)] if t == length - 1 else places
                    outcomes.extend((after, place, chance * p) for place, p in places)
            cumulative = np.cumsum([p for _, _, p in outcomes])
            chosen = np.searchsorted(cumulative, (np.arange(count) + u) / count, side="right")
            for index in np.unique(chosen).tolist():
                following.append((*outcomes[index][:2], int((chosen == index).sum())))
        level = following
    ends.extend((w, count) for w, _, count in level)
    return total / num_walks, ends


CLASSES = ["identity", "joint", "local"]


def case(kind):
    """A posterior's policies `[S, A, M]`, their entropies, labels, weights and the MDP."""
    posterior = small_posterior(3, num_states=5)
    P = np.ascontiguousarray(posterior.expert_policies().transpose(1, 2, 0))
    H = np.array([[entropy(column) for column in rows.T] for rows in P])
    rng = np.random.default_rng(1)
    labels = {
        "identity": np.arange(6)[None],
        "joint": np.array([[0, 1, 1, 2, 0, 2]]),
        "local": np.array([rng.permutation([0, 0, 1, 1, 2, 2]) for _ in range(5)]),
    }[kind]
    return P, H, labels, rng.dirichlet(np.ones(6)), posterior.problem.mdp


@pytest.mark.parametrize("is_factorised", [False, True])
@pytest.mark.parametrize("kind", CLASSES)
def test_walk(is_factorised, kind):
    P, _, labels, root, mdp = case(kind)
    uniforms, out = np.random.default_rng(2).random((50, 9)), np.empty(50)
    kernels.walk(
        P, labels, kind == "identity", root, mdp.rows.indptr, mdp.rows.next_states, mdp.rows.probabilities,
        mdp.terminal, 1, 4, uniforms, is_factorised, out,
    )  # fmt: skip
    assert out == pytest.approx(walk_twin(P, labels, root, mdp, 1, 4, uniforms, is_factorised), abs=ROUNDING)


@pytest.mark.parametrize("num_walks", [1, 7, 60])
@pytest.mark.parametrize("kind", CLASSES)
def test_grow(num_walks, kind):
    P, H, labels, root, mdp = case(kind)
    uniforms = np.random.default_rng(3).random((4, num_walks))
    arrays = (P, H, labels, labels.max(axis=1) + 1, kind == "identity", root, mdp.rows.indptr, mdp.rows.next_states)
    ends, counts = np.empty((num_walks, 6)), np.empty(num_walks, dtype=np.int64)
    for start in range(5):
        query = (mdp.rows.probabilities, mdp.terminal, start, 4, uniforms)
        information, num_ends = kernels.grow(*arrays, *query, ends, counts)
        alone, no_ends = kernels.grow(*arrays, *query, np.empty((0, 6)), np.empty(0, dtype=np.int64))
        expected, expected_ends = tree_twin(P, labels, root, mdp, start, 4, uniforms)
        assert information == pytest.approx(expected, abs=ROUNDING)
        assert alone == pytest.approx(information, abs=ROUNDING)
        assert (num_ends, no_ends) == (len(expected_ends), 0)
        assert counts[:num_ends].sum() == num_walks
        order = np.lexsort(np.round(ends[:num_ends], 9).T)
        twin = np.array([[*w, count] for w, count in expected_ends])
        twin = twin[np.lexsort(np.round(twin[:, :6], 9).T)]
        assert ends[:num_ends][order] == pytest.approx(twin[:, :6], abs=1e-9)
