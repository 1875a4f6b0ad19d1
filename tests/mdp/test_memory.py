"""Worlds with a memory: against histories written out one by one, and against the full product."""

from dataclasses import replace

import numpy as np
import pytest
from mdp import twins

from journeyman.demonstrations import Demonstration
from journeyman.errors import InputError, UnsupportedError
from journeyman.inference import infer
from journeyman.mdp import FiniteMDP, Grid, q_values, solve
from journeyman.mdp.arrays import mdp_from_arrays, mdp_to_arrays
from journeyman.mdp.memory import innermost, places_in, remembered_words, with_memory
from journeyman.memory import Memory, automaton, clock, combined, last_action, visited
from journeyman.problem import Problem
from journeyman.rewards import Discrete, LinearFeatures, MultivariateNormal, Normal, PerState, PerStateAction

S, A = 4, 2


def tiny(seed=0, *, discount=0.8, **options):
    """Four states, two actions, two next states each; the last state is terminal."""
    rng = np.random.default_rng(seed)
    P = np.zeros((S, A, S))
    for s in range(S - 1):
        for a in range(A):
            ends = rng.choice(S, 2, replace=False)
            P[s, a, ends] = rng.dirichlet([1.0, 1.0])
    names = {"state_labels": ("home", "fork", "pond", "hole"), "action_labels": ("left", "right")}
    return FiniteMDP.from_dense(P, layout="SAS", discount=discount, **(names | options))


def memories(mdp):
    triples = [("idle", ("fork", "left"), "busy"), ("busy", "pond", "done"), ("done", "right", "idle")]
    return {
        "visited": visited(mdp, "pond", until="home"),
        "entered": visited(mdp, "pond", until="home", on="entering"),
        "last": last_action(mdp),
        "phase": automaton(mdp, ["idle", "busy", "done"], triples),
        "both": combined(visited(mdp, 1, on="entering"), last_action(mdp)),
        "clock": clock(mdp, 3),
    }


NAMES = tuple(memories(tiny()))


def history_values(mdp, memory, reward_fn, depth):
    """Return V*(s) over `depth` steps from (m0(s), s), by enumerating histories: no product anywhere."""
    P = twins.dense(mdp)

    def value(m, s, left):
        if left == 0:
            return 0.0
        if mdp.terminal[s]:
            return reward_fn(m, s, 0)
        found = []
        for a in np.flatnonzero(mdp.available[s]).tolist():
            after = 0.0
            first = int(memory.following[m, s, a])
            for t in np.flatnonzero(P[s, a]).tolist() if first >= 0 else []:
                m_next = first if memory.entering is None else int(memory.entering[first, t])
                after += P[s, a, t] * value(m_next, t, left - 1)
            found.append(reward_fn(m, s, a) + mdp.discount * after)
        return max(found)

    return np.array([value(int(memory.starts[s]), s, depth) for s in range(mdp.num_states)])


@pytest.mark.parametrize("name", NAMES)
def test_values_of_the_product_are_those_of_all_histories(name):
    mdp = tiny(discount=0.05)  # so that 7 steps are nearly all there is
    memory = memories(mdp)[name]
    product = mdp.with_memory(memory)
    rng = np.random.default_rng(1)
    table = rng.standard_normal((memory.num_states, S, A))
    table[:, mdp.terminal] = table[:, mdp.terminal, :1]  # paid once, whatever is done
    reward = table[product.memory.memories, product.memory.places]
    depth = 7
    expected = history_values(mdp, memory, lambda m, s, a: float(table[m, s, a]), depth)
    bound = np.abs(table).max() * mdp.discount**depth / (1 - mdp.discount)
    np.testing.assert_allclose(solve(product, reward).values[:S], expected, atol=2 * bound + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_what_can_be_reached_is_as_in_the_whole_product(name):
    mdp = tiny(3)
    memory = memories(mdp)[name]
    kept, whole = with_memory(mdp, memory), with_memory(mdp, memory, is_whole=True)
    assert whole.num_states == memory.num_states * S
    number = {(m, s): i for i, (m, s) in enumerate(zip(whole.memory.memories, whole.memory.places, strict=True))}
    same = [number[m, s] for m, s in zip(kept.memory.memories, kept.memory.places, strict=True)]
    np.testing.assert_array_equal(twins.dense(whole)[np.ix_(same, range(A), same)], twins.dense(kept))
    reward = np.random.default_rng(0).standard_normal((whole.num_states, A))
    values = solve(whole, reward).values
    np.testing.assert_allclose(solve(kept, reward[same]).values, values[same], atol=1e-10)
    # Nothing that is kept is superfluous, and nothing that is left out can be met.
    reached = whole.reachable(np.arange(S))
    assert sorted(same) == np.flatnonzero(reached).tolist()


def test_memories_never_met_do_not_exist():
    mdp = tiny()
    ring = automaton(mdp, ["a", "b", "c"], [("a", "left", "b"), ("b", "left", "a")])  # nothing leads to c
    product = mdp.with_memory(ring)
    assert set(product.memory.memories.tolist()) == {0, 1}
    assert product.state_labels[:S] == ("home (a)", "fork (a)", "pond (a)", "hole (a)")
    np.testing.assert_array_equal(product.initial[:S], mdp.initial)


def test_unrolling_is_a_clock():
    mdp = tiny()
    unrolled, product = mdp.unrolled(3), with_memory(mdp, clock(mdp, 3), is_whole=True)
    for name in ("indptr", "next_states", "probabilities"):
        np.testing.assert_array_equal(getattr(unrolled.rows, name), getattr(product.rows, name))
    for name in ("initial", "available", "terminal"):
        np.testing.assert_array_equal(getattr(unrolled, name), getattr(product, name))
    # As it was written before: blocks of the same rows, each leading to the next, the last to none.
    P = twins.dense(unrolled)
    expected = np.zeros((3 * S, A, 3 * S))
    for t in range(2):
        expected[t * S : (t + 1) * S, :, (t + 1) * S : (t + 2) * S] = twins.dense(mdp)
    np.testing.assert_array_equal(P, expected)
    problem = Problem(mdp, PerState(mdp), Normal(S), 2.0)
    by_clock = problem.with_memory(clock(mdp, 3), rewards="shared", questions="start")
    reward = np.arange(1.0, S + 1)
    shared = problem.unrolled(3)
    np.testing.assert_allclose(
        solve(by_clock.mdp, by_clock.reward_model.reward(reward)).values[:S],
        solve(shared.mdp, shared.reward_model.reward(reward)).values[:S],
    )
    assert by_clock.queryable.sum() == shared.queryable.sum() == S - 1


# -- demonstrations --------------------------------------------------------------------------------------------------


def walks(mdp, rng, number=20, length=6):
    """Demonstrations of the world, by chance."""
    found = []
    for _ in range(number):
        state, steps = int(rng.integers(S - 1)), []
        start = state
        while len(steps) < length and not mdp.terminal[state]:
            action = int(rng.choice(np.flatnonzero(mdp.available[state])))
            steps.append((state, action))
            state = int(rng.choice(*mdp.next_states(state, action)[:1], p=mdp.next_states(state, action)[1]))
        ended = "terminated" if mdp.terminal[state] else "truncated"
        found.append(Demonstration(start, tuple(steps), state, ended))
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if name != "clock"])
def test_demonstrations_of_the_world_are_lifted_by_themselves(name):
    mdp = tiny()
    memory = memories(mdp)[name]
    problem = Problem(mdp, PerState(mdp), Normal(S), 2.0).with_memory(memory)
    remembered, given = problem.mdp.memory, walks(mdp, np.random.default_rng(5))
    counts = np.zeros((problem.mdp.num_states, A), dtype=int)
    for item in given:
        m = int(memory.starts[item.start_state])
        after = [state for state, _ in item.steps[1:]] + [item.final_state]
        for (state, action), next_state in zip(item.steps, after, strict=True):
            counts[remembered.number(m, state), action] += 1
            m = int(memory.after(*(np.array(x) for x in (m, state, action, next_state))))
    np.testing.assert_array_equal(problem.counts(given), counts)
    lifted = problem.lift(given)
    assert problem.lift(lifted) == lifted
    assert [problem.mdp.state_name(item.final_state).split(" (")[0] for item in lifted] == [
        mdp.state_name(item.final_state) for item in given
    ]


def test_what_is_lifted_is_never_mistaken_for_the_world():
    """A demonstration of the product stays as it is, wherever it starts, also where its numbers are below S again."""
    mdp = tiny()
    problem = Problem(mdp, PerState(mdp), Normal(S), 2.0).with_memory(visited(mdp, "fork", until="home"))
    rng = np.random.default_rng(0)
    for start in range(problem.mdp.num_states):
        for _ in range(10):
            state, steps = start, []
            while len(steps) < 8 and not problem.mdp.terminal[state]:
                steps.append((state, int(rng.integers(A))))
                following, chances = problem.mdp.next_states(*steps[-1])
                state = int(rng.choice(following, p=chances))
            if steps:
                item = Demonstration(start, tuple(steps), state, "truncated")
                assert problem.lift(item) == (item,)


def test_names_of_the_world_mean_where_the_memory_begins():
    mdp = tiny()
    product = mdp.with_memory(visited(mdp, "fork"))
    assert product.state_names.index("pond") == product.state_names.index(2) == 2
    assert product.state_names.index("pond (before fork)") == 2
    after = product.state_names.index("pond (after fork)")
    assert after >= S and product.memory.label(after) == "after fork"
    with pytest.raises(InputError, match="lake"):
        product.state_names.index("lake")


def test_memories_can_be_added_one_after_the_other():
    mdp = tiny()
    first = mdp.with_memory(visited(mdp, "pond"))
    nested = first.with_memory(last_action(first))
    both = mdp.with_memory(combined(visited(mdp, "pond"), last_action(mdp)))
    assert nested.num_states > both.num_states  # its episodes may begin with what the first memory remembers
    assert innermost(nested) is mdp
    problem, other = (Problem(m, PerState(m), Normal(m.num_states), 1.0) for m in (nested, both))
    given = walks(mdp, np.random.default_rng(2))
    places = [
        sorted(
            (mdp.state_name(int(places_in(m)[s])), remembered_words(m, s), a, n)
            for (s, a), n in np.ndenumerate(p.counts(given))
            if n
        )
        for m, p in ((nested, problem), (both, other))
    ]
    assert places[0] == places[1]


# -- rewards ---------------------------------------------------------------------------------------------------------


def test_rewards_are_per_memory_or_shared():
    mdp = tiny()
    memory = visited(mdp, "fork")
    features = np.random.default_rng(0).standard_normal((S, 2))
    covariance = np.array([[1.0, 0.3], [0.3, 2.0]])
    linear = Problem(
        mdp, LinearFeatures(features, mdp, offset=np.arange(S), names=("wet", "far")),
        MultivariateNormal([1.0, 2.0], covariance), 1.0,
    )  # fmt: skip
    own, shared = linear.with_memory(memory), linear.with_memory(memory, rewards="shared")
    assert own.reward_model.names == ("wet (before fork)", "far (before fork)", "wet (after fork)", "far (after fork)")
    theta = np.array([1.0, 2.0, 3.0, 4.0])
    remembered = own.mdp.memory
    parts = theta.reshape(2, 2)[remembered.memories]
    expected = (features[remembered.places] * parts).sum(axis=1) + remembered.places
    np.testing.assert_allclose(own.reward_model.reward(theta), expected)
    np.testing.assert_allclose(own.prior.covariance, np.kron(np.eye(2), covariance))
    assert shared.reward_model.names == ("wet", "far") and shared.prior is linear.prior
    world = linear.reward_model.reward(theta[:2])
    np.testing.assert_allclose(shared.reward_model.reward(theta[:2]), world[remembered.places])
    each = Problem(mdp, PerStateAction(mdp), Normal(S * A, 0.0, 1.0 + np.arange(S * A)), 1.0).with_memory(memory)
    assert each.reward_model.kind == "per_state_action" and each.reward_model.num_parameters == each.mdp.num_states * A
    np.testing.assert_allclose(
        each.prior.std, (1.0 + remembered.places[:, None] * A + np.arange(A)).ravel()
    )  # the prior of a state and action is that of all its copies
    with pytest.raises(InputError, match="rewards must be one of per_memory, shared, got 'own'"):
        linear.with_memory(memory, rewards="own")


def test_a_prior_of_atoms_cannot_be_copied_but_shared():
    mdp = tiny()
    problem = Problem(mdp, PerState(mdp), Discrete(np.eye(S)), 1.0)
    with pytest.raises(UnsupportedError, match='or share rewards over the memory: rewards="shared"'):
        problem.with_memory(visited(mdp, 1))
    assert problem.with_memory(visited(mdp, 1), rewards="shared").prior is problem.prior


@pytest.mark.parametrize("number", [1, 3])
def test_a_memory_that_never_changes_leaves_the_posterior_as_it_is(number):
    mdp = tiny()
    problem = Problem(mdp, PerState(mdp), Normal(S), 2.0)
    still = Memory("nothing", np.broadcast_to(np.arange(number)[:, None, None], (number, S, A)), "abc"[:number])
    given = walks(mdp, np.random.default_rng(1))
    plain, same = (
        infer(p, given, seed=3, num_particles=200, num_threads=1) for p in (problem, problem.with_memory(still))
    )
    np.testing.assert_array_equal(plain.theta, same.theta)
    np.testing.assert_array_equal(plain.weights, same.weights)
    assert plain.log_evidence == same.log_evidence


def test_shared_rewards_and_a_memory_that_does_not_matter_give_the_same_likelihood():
    """What is remembered changes nothing if rewards do not depend on it: Q* is that of the world in every copy."""
    mdp = tiny()
    problem = Problem(mdp, PerState(mdp), Normal(S), 2.0)
    shared = problem.with_memory(last_action(mdp), rewards="shared")
    theta = np.random.default_rng(0).standard_normal(S)
    world, copy = problem.reward_model.reward(theta), shared.reward_model.reward(theta)
    q, q_of_copies = (q_values(m, r[None], solve(m, r).values[None])[0] for m, r in ((mdp, world), (shared.mdp, copy)))
    np.testing.assert_allclose(q_of_copies, q[shared.mdp.memory.places], atol=1e-9)


# -- storing, and what is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_memories_survive_storing(name, tmp_path):
    mdp = tiny(grid=Grid(2, 2), coordinates=None)
    product = mdp.with_memory(memories(mdp)[name])
    product = product.with_memory(visited(product, 0))
    product.save(tmp_path / "world.npz")
    for back in (FiniteMDP.load(tmp_path / "world.npz"), mdp_from_arrays(mdp_to_arrays(product))):
        for part in ("places", "memories"):
            np.testing.assert_array_equal(getattr(back.memory, part), getattr(product.memory, part))
        inner, own = back.memory.world.memory, product.memory.world.memory
        np.testing.assert_array_equal(inner.automaton.following, own.automaton.following)
        np.testing.assert_array_equal(inner.automaton.starts, own.automaton.starts)
        assert inner.automaton.labels == own.automaton.labels and inner.automaton.name == own.automaton.name
        assert back.state_names.index("pond") == 2
        given = walks(mdp, np.random.default_rng(0))
        before, after = (Problem(m, PerState(m), Normal(m.num_states), 1.0) for m in (product, back))
        if name != "clock":
            assert before.lift(given) == after.lift(given)


@pytest.mark.parametrize(
    ("make_fn", "complaint"),
    [
        (lambda m: visited(m, "lake"), "a state must be a label or a number in 0..3, got 'lake'"),
        (lambda m: visited(m, 1, until=1), "undone in another state than it is made in, got fork for both"),
        (lambda m: visited(m, 1, on="arrival"), "on must be leaving or entering, got 'arrival'"),
        (lambda m: automaton(m, ["a", "a"], [("a", 1, "a")]), "different labels, got 'a' twice"),
        (lambda m: automaton(m, "ab", [("a", 1, "b")]), "states of a memory must be a list of words, got 'ab'"),
        (lambda m: automaton(m, ["a", "b"], []), "changes must be a list with at least one change"),
        (lambda m: automaton(m, ["a", "b"], [("a", "pond", "c")]), "change 0 of a memory: a state of the memory must"),
        (lambda m: automaton(m, ["a", "b"], [{"form": "a", "to": "b"}]), "change 0 of a memory: .*got 'form'.*from"),
        (lambda m: automaton(m, ["a", "b"], [{"from": "a", "to": "b"}]), "must say when it happens"),
        (lambda m: automaton(m, ["a", "b"], [{"state": "pond"}]), 'Add "to"'),
        (lambda m: automaton(m, ["a", "b"], [{"enters": 1, "action": 0, "to": "b"}]), "must not name what was done"),
        (
            lambda m: automaton(m, ["a", "b"], [{"state": "pond", "to": "b"}, {"action": "left", "to": "a"}]),
            "change 1 of a memory must not contradict another, got .* after change 0",
        ),
        (lambda m: automaton(m, ["a", "b"], [("a", 1, "b")]), "got 1, which is both"),
        (lambda m: automaton(m, ["a", "b"], [("a", "pond", "b")], start="c"), "state of the memory must be"),
        (lambda m: combined(visited(m, 1), visited(m.unrolled(2), 1)), "made for one world"),
        (lambda m: m.unrolled(2).with_memory(visited(m, 1)), "made for 8 states and 2 actions, got 4 and 2"),
        (lambda m: m.with_memory("visited"), "must be a Memory automaton, got str"),
        (lambda m: clock(m, 0), "horizon must be a whole number of at least 1"),
        (lambda m: Memory("x", np.full((1, S, A), 2), ("a",)), "must lie in 0..0, got 2 to 2"),
        (lambda m: Memory("x", np.zeros((1, S, A), int), ("a",), entering=np.ones((1, S), int)), "entering must lead"),
        (lambda m: replace(m, memory=m.with_memory(last_action(m)).memory), "memory must say what each of 4 states"),
    ],
)
def test_what_cannot_be_remembered_is_refused(make_fn, complaint):
    with pytest.raises(InputError, match=complaint):
        make_fn(tiny())
