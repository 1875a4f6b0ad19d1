"""Properties of random MDPs, the odd ones among them: see `random_mdps.mdps`."""

import io

import numpy as np
from hypothesis import HealthCheck, given, settings, strategies as st
from mdp import twins
from mdp.random_mdps import mdps
from mdp.test_builders import assert_same, columns_of

from journeyman.errors import InputError
from journeyman.mdp import FiniteMDP, evaluate_policy, occupancy, solve_batch

same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # files are simply overwritten


@given(mdps())
def test_construction_keeps_the_promises_of_the_model(mdp):
    sums = twins.dense(mdp).sum(axis=2)
    assert (sums <= 1 + 1e-12).all()
    assert (mdp.rows.probabilities > 0).all()
    assert mdp.available.any(axis=1).all()
    assert (sums[~mdp.available] == 0).all()
    assert abs(mdp.initial.sum() - 1) <= 1e-12
    np.testing.assert_array_equal(mdp.terminal, (sums == 0).all(axis=1))
    assert 0 <= mdp.max_row_sum <= 1
    assert abs(mdp.max_row_sum - sums.max()) <= 1e-12


@given(mdps())
def test_building_again_from_the_parts_gives_the_same_mdp(mdp):
    P = mdp.dense_transitions()
    options = {
        "discount": mdp.discount,
        "initial": mdp.initial,
        "available": mdp.available,
        "termination": (1 - P.sum(axis=2)).clip(0, 1),
    }
    sizes = {"num_states": mdp.num_states, "num_actions": mdp.num_actions}
    assert_same(FiniteMDP.from_dense(P, layout="SAS", **options), mdp)
    assert_same(FiniteMDP.from_matrices(list(P.transpose(1, 0, 2)), **options), mdp)
    assert_same(FiniteMDP.from_function(lambda s, a: [(p, t) for t, p in enumerate(P[s, a])], **sizes, **options), mdp)
    columns = columns_of(P)
    if columns["state"].size:
        assert_same(FiniteMDP.from_edges(columns, **sizes, **options), mdp)


@given(
    mdps(), st.integers(0, 2**32), st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from(["direct", "sweeps", "krylov"])
)
def test_the_bound_of_a_solution_holds(mdp, seed, scale, method):
    rng = np.random.default_rng(seed)
    rewards = scale * rng.normal(size=(4, mdp.num_states, mdp.num_actions))
    solution = solve_batch(mdp, rewards, method=method)
    assert solution.converged.all()
    P = twins.dense(mdp)
    for m in range(4):
        exact, error = twins.optimal_values(P, mdp.available, mdp.discount, rewards[m])
        assert np.abs(solution.values[m] - exact).max() <= solution.error_bound[m] + error
        Q = twins.q_values(P, mdp.available, mdp.discount, rewards[m], np.asarray(exact, dtype=float))
        tie = 1e-9 * (1 + np.abs(Q[mdp.available]).max()) + 4 * solution.error_bound[m]
        chosen = Q[np.arange(mdp.num_states), solution.policy[m]]
        assert (chosen >= Q.max(axis=1) - tie).all()


@given(mdps(), st.integers(0, 2**32))
def test_no_policy_beats_the_optimal_values(mdp, seed):
    rng = np.random.default_rng(seed)
    reward = rng.normal(size=mdp.available.shape)
    solution = solve_batch(mdp, reward[None])
    chances = rng.random(mdp.available.shape) * mdp.available + 1e-3 * mdp.available
    values = evaluate_policy(mdp, chances / chances.sum(axis=1, keepdims=True), reward)
    rounding = 1e-10 * (1 + np.abs(values).max())  # condition of at most 2000 times 2e-16, and room
    assert (values <= solution.values[0] + solution.error_bound[0] + rounding).all()
    own = evaluate_policy(mdp, solution.policy[0], reward)
    # every step loses at most the tie of 1e-9 (1 + max |Q|), over at most 1 / (1 - discount) steps
    loss = (1e-9 * (1 + np.abs(solution.q[0][mdp.available]).max()) + 2 * solution.error_bound[0]) / (1 - mdp.discount)
    np.testing.assert_allclose(own, solution.values[0], rtol=0, atol=loss + rounding)


@given(mdps(), st.integers(0, 2**32))
def test_occupancy_is_the_other_side_of_evaluation(mdp, seed):
    rng = np.random.default_rng(seed)
    reward = rng.normal(size=mdp.available.shape)
    policy = np.array([rng.choice(np.flatnonzero(mask)) for mask in mdp.available])
    nu = occupancy(mdp, policy)
    r_pi = reward[np.arange(mdp.num_states), policy]
    assert (nu >= -1e-15).all()
    expected = mdp.initial @ evaluate_policy(mdp, policy, reward)
    assert abs(nu @ r_pi - expected) <= 1e-10 * (1 + nu @ np.abs(r_pi))


@same_folder
@given(mdps())
def test_a_file_gives_back_every_bit(tmp_path, mdp):
    mdp.save(tmp_path / "mdp.npz")
    assert_same(FiniteMDP.load(tmp_path / "mdp.npz"), mdp)


@given(mdps(), st.integers(0, 5), st.integers(0, 2**32))
def test_reachable_equals_powers_of_the_matrix(mdp, within, seed):
    start = int(np.random.default_rng(seed).integers(mdp.num_states))
    P = twins.dense(mdp)
    np.testing.assert_array_equal(mdp.reachable(start, within), twins.reachable(P, [start], within))
    np.testing.assert_array_equal(mdp.reachable(), twins.reachable(P, np.flatnonzero(mdp.initial > 0), None))


@given(mdps(), st.integers(1, 4), st.integers(0, 2**32))
def test_unrolled_equals_backward_induction(mdp, horizon, seed):
    reward = np.random.default_rng(seed).normal(size=mdp.available.shape)
    unrolled = mdp.unrolled(horizon)
    solution = solve_batch(unrolled, np.tile(reward, (horizon, 1))[None])
    expected = twins.backward_induction(twins.dense(mdp), mdp.available, mdp.discount, reward, horizon)
    np.testing.assert_allclose(solution.values[0], expected.ravel(), rtol=0, atol=1e-13 * (1 + np.abs(expected).max()))
    reached = unrolled.reachable(np.arange(mdp.num_states), within=0)
    assert reached[: mdp.num_states].all() and not reached[mdp.num_states :].any()


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=12,
)


@given(anything, anything, anything, anything, anything)
def test_nonsense_gives_an_input_error(transitions, discount, initial, available, labels):
    try:
        FiniteMDP.from_dense(
            transitions, layout="SAS", discount=discount, initial=initial, available=available, state_labels=labels
        )
    except InputError as error:
        assert str(error)


@given(st.fixed_dictionaries({name: anything for name in ("state", "action", "next_state", "probability")}))
def test_nonsense_tables_give_an_input_error(table):
    try:
        FiniteMDP.from_edges(table, discount=0.9)
    except InputError as error:
        assert str(error)


@same_folder
@given(st.text(alphabet='0123456789.,-e \n"nasttio_cbrpylx\t', max_size=80), st.booleans())
def test_nonsense_csv_gives_an_input_error(tmp_path, text, has_header):
    path = tmp_path / "edges.csv"
    path.write_text("state,action,next_state,probability\n" * has_header + text, encoding="utf-8")
    try:
        FiniteMDP.from_edges(path, discount=0.9)
    except InputError as error:
        assert str(error)


@same_folder
@given(st.binary(max_size=200), st.sampled_from(["mdp.npz", "edges.csv", "edges.parquet"]))
def test_nonsense_files_give_an_input_error(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    try:
        FiniteMDP.load(path) if name == "mdp.npz" else FiniteMDP.from_edges(path, discount=0.9)
    except InputError as error:
        assert name in str(error) or "edge table" in str(error)
    else:
        raise AssertionError("random bytes were taken for an MDP")


def test_nonsense_arrays_in_a_file_give_an_input_error(tmp_path):
    """Whatever array stands in the place of one of a file's, loading raises InputError or gives a whole MDP."""
    path = tmp_path / "mdp.npz"
    FiniteMDP.from_dense(np.full((2, 2, 2), 0.5), layout="SAS", discount=0.9).save(path)
    with np.load(path) as file:
        whole = {name: file[name] for name in file.files}
    rng = np.random.default_rng(0)
    num_refused = 0
    for _ in range(150):
        arrays = dict(whole)
        name = str(rng.choice(list(arrays)))
        shape = tuple(rng.integers(0, 4, size=rng.integers(0, 3)))
        arrays[name] = rng.integers(-2, 5, size=shape).astype(rng.choice(["i8", "f8", "?", "U3", "c16"]))
        buffer = io.BytesIO()
        np.savez(buffer, **arrays)
        path.write_bytes(buffer.getvalue())
        try:
            loaded = FiniteMDP.load(path)
        except InputError:
            num_refused += 1
        else:
            assert (
                loaded.num_states >= 1
                and np.isfinite(solve_batch(loaded, np.ones((1, loaded.num_states))).values).all()
            )
    assert num_refused > 100
