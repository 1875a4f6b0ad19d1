"""Gymnasium's tables: what is read is what value iteration on the table says, and what cannot be right is refused."""

import copy
import warnings

import numpy as np
import pytest

from journeyman.errors import InputError, UnsupportedError
from journeyman.mdp import FiniteMDP, solve
from journeyman.mdp.gymnasium_tables import GymnasiumWarning, _deviations, read_tables

gymnasium = pytest.importorskip("gymnasium")
DISCOUNT = 0.95


def newest(name):
    """Return the id of the newest version of an environment: they differ between releases of Gymnasium."""
    versions = [spec.version for spec in gymnasium.registry.values() if spec.name == name]
    return f"{name}-v{max(versions)}"


CLIFF, TAXI = newest("CliffWalking"), newest("Taxi")
ENVIRONMENTS = {
    "4x4": ("FrozenLake-v1", {}),
    "4x4, not slippery": ("FrozenLake-v1", {"is_slippery": False}),
    "8x8": ("FrozenLake-v1", {"map_name": "8x8"}),
    "8x8, not slippery": ("FrozenLake-v1", {"map_name": "8x8", "is_slippery": False}),
    "cliff": (CLIFF, {}),
    "taxi": (TAXI, {}),
}


@pytest.fixture(params=ENVIRONMENTS)
def env(request):
    name, options = ENVIRONMENTS[request.param]
    return gymnasium.make(name, **options)


def iterated_values(table, discount, tolerance=1e-12):
    """Return V* of a table by value iteration on dicts: no value after a transition that is done."""
    values = dict.fromkeys(table, 0.0)
    while True:
        change = 0.0
        for state, actions in table.items():
            best = max(
                sum(p * (reward + (0.0 if done else discount * values[after])) for p, after, reward, done in outcomes)
                for outcomes in actions.values()
            )
            change = max(change, abs(best - values[state]))
            values[state] = best
        if change < tolerance:
            return np.array([values[state] for state in range(len(table))])


def test_solved_values_are_those_of_value_iteration_on_the_table(env):
    """Within the stopping error of value iteration; a terminal cell, where nobody acts, is worth nothing."""
    tables = read_tables(env)
    mdp = tables.mdp(discount=DISCOUNT, time_limit="ignore")
    found = solve(mdp, tables.expected_reward).values
    expected = iterated_values(env.unwrapped.P, DISCOUNT)
    acting = ~mdp.terminal
    np.testing.assert_allclose(found[acting], expected[acting], atol=1e-12 / (1 - DISCOUNT), rtol=1e-12)
    assert (found[mdp.terminal] == 0.0).all()


def test_every_step_in_the_environment_has_its_chance_in_the_rows(env):
    """1000 steps: the next state is in the row, an end is a terminal cell or missing mass, and the pay is expected."""
    tables = read_tables(env)
    mdp = tables.mdp(discount=DISCOUNT, time_limit="ignore")
    rng = np.random.default_rng(1)
    state, _ = env.reset(seed=1)
    for _ in range(1000):
        assert not mdp.terminal[state]
        action = int(rng.integers(mdp.num_actions))
        after, _, is_done, is_stopped, _ = env.step(action)
        next_states, chances = mdp.next_states(state, action)
        if is_done:
            assert mdp.terminal[after] if after in next_states else chances.sum() < 1.0
        else:
            assert after in next_states
        state = env.reset()[0] if is_done or is_stopped else after


def test_ends_of_the_three_environments():
    lake = FiniteMDP.from_gymnasium("FrozenLake-v1", discount=DISCOUNT, time_limit="ignore")
    assert np.flatnonzero(lake.terminal).tolist() == [5, 7, 11, 12, 15]
    cliff = FiniteMDP.from_gymnasium(CLIFF, discount=DISCOUNT, time_limit="ignore")
    assert np.flatnonzero(cliff.terminal).tolist() == [47]
    assert cliff.next_states(47, 0)[0].size == 0  # live in the table
    taxi = read_tables(TAXI)
    rows = taxi.mdp(discount=DISCOUNT, time_limit="ignore")
    ending = np.flatnonzero(np.isclose(taxi.expected_reward, 20.0).any(axis=1))
    assert len(ending) == 4 and all(rows.next_states(int(state), 5)[0].size == 0 for state in ending)
    assert not rows.terminal.any()


def test_taxi_is_worth_what_its_episodes_are_and_not_a_delivery_for_ever():
    tables = read_tables(TAXI)
    mdp = tables.mdp(discount=0.99, time_limit="ignore")
    value = float(mdp.initial @ solve(mdp, tables.expected_reward).values)
    assert value == pytest.approx(
        float(mdp.initial @ iterated_values(gymnasium.make(TAXI).unwrapped.P, 0.99)), abs=1e-9
    )
    assert 6.0 < value < 6.5


def test_next_states_that_stand_in_a_row_twice_are_merged():
    mdp = FiniteMDP.from_gymnasium("FrozenLake-v1", discount=DISCOUNT, time_limit="ignore")
    next_states, chances = mdp.next_states(0, 0)  # left and up lead back to the corner
    assert next_states.tolist() == [0, 4]
    np.testing.assert_allclose(chances, [2 / 3, 1 / 3], rtol=1e-12)


def test_initial_states_names_and_places():
    taxi = FiniteMDP.from_gymnasium(TAXI, discount=DISCOUNT, time_limit="ignore")
    assert (taxi.initial > 0).sum() == 300
    assert taxi.state_names.index("r3c1, yellow to red") == gymnasium.make(TAXI).unwrapped.encode(3, 1, 2, 0)
    assert taxi.action_labels[4:] == ("pick up", "drop off")
    assert taxi.grid.num_rows * taxi.grid.num_columns == 23 * 29
    lake = FiniteMDP.from_gymnasium("FrozenLake-v1", discount=DISCOUNT, time_limit="ignore")
    assert (lake.initial == np.eye(16)[0]).all()
    assert lake.grid.kinds[5] == "hole" and lake.state_labels[7] == "r1c3"
    row, column = divmod(10, 4)
    for action in range(4):  # each arrow points where the middle one of three equally likely moves leads
        after = lake.next_states(10, action)[0]
        move = lake.grid.moves[action]
        assert (row + move[0]) * 4 + column + move[1] in after
    assert lake.num_states == 16 and FiniteMDP.from_gymnasium(
        "FrozenLake-v1", discount=0.9, env_options={"map_name": "8x8"}, time_limit="ignore", state_labels=range(64)
    ).state_labels[:2] == ("0", "1")


def test_a_time_limit_is_warned_of_ignored_or_made_states():
    with pytest.warns(GymnasiumWarning, match=r"stopped after 100 steps .*later steps are worth at most 0\.039"):
        FiniteMDP.from_gymnasium("FrozenLake-v1", discount=DISCOUNT)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert FiniteMDP.from_gymnasium(CLIFF, discount=DISCOUNT).num_states == 48  # it has no limit
    unrolled = FiniteMDP.from_gymnasium("FrozenLake-v1", discount=DISCOUNT, time_limit="unroll")
    assert unrolled.num_states == 16 * 100
    with pytest.raises(InputError, match="time_limit must be one of warn, ignore, unroll"):
        FiniteMDP.from_gymnasium("FrozenLake-v1", discount=DISCOUNT, time_limit="yes")


def test_the_bound_on_what_a_time_limit_costs_holds():
    """Value with 100 steps against without, FrozenLake 4x4: the gap lies below discount^100 / (1 - discount)."""
    tables = read_tables("FrozenLake-v1")
    without = tables.mdp(discount=DISCOUNT, time_limit="ignore")
    limited = tables.mdp(discount=DISCOUNT, time_limit="unroll")
    reward = tables.expected_reward
    gap = without.initial @ solve(without, reward).values
    gap -= limited.initial @ solve(limited, np.tile(reward, (100, 1))).values
    assert 0.0 <= gap <= DISCOUNT**100 * reward.max() / (1 - DISCOUNT)


def test_the_environment_that_is_given_is_left_as_it_was():
    env = gymnasium.make("FrozenLake-v1")
    env.reset(seed=3)
    env.step(2)
    state, generator = env.unwrapped.s, copy.deepcopy(env.unwrapped.np_random)
    read_tables(env)
    assert env.unwrapped.s == state and env.unwrapped.np_random.random() == generator.random()


class Corridor(gymnasium.Env):
    """Three states in a row; right leads on, left back; the last ends the episode."""

    def __init__(self, table=None, *, size=3, initial=(1.0, 0.0, 0.0)):
        self.observation_space, self.action_space = gymnasium.spaces.Discrete(size), gymnasium.spaces.Discrete(2)
        right = {0: [(1.0, 1, -1.0, False)], 1: [(0.5, 2, 5.0, True), (0.5, 1, -1.0, False)], 2: [(1.0, 2, 9.0, True)]}
        own = {s: {0: [(1.0, max(s - 1, 0), -1.0, False)], 1: right[s]} for s in range(3)}
        self.P = own if table is None else table
        if initial is not None:
            self.initial_state_distrib = np.array(initial)
        self.s = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 0
        return 0, {}

    def step(self, action):
        outcomes = self.P[self.s][action]
        _, self.s, reward, done = outcomes[self.np_random.choice(len(outcomes), p=[o[0] for o in outcomes])]
        return self.s, reward, done, False, {}


def test_an_environment_of_ones_own():
    """V(1) = max(-1 + g V(0), 2 + g V(1) / 2) and V(0) = max(-1 + g V(0), -1 + g V(1)), by hand."""
    tables = read_tables(Corridor())
    mdp = tables.mdp(discount=0.9)
    assert mdp.terminal.tolist() == [False, False, True] and mdp.state_labels is None
    middle = 2.0 / (1 - 0.45)
    np.testing.assert_allclose(solve(mdp, tables.expected_reward).values, [-1 + 0.9 * middle, middle, 0.0], rtol=1e-12)


def test_a_table_may_be_lists_and_lack_actions():
    table = [[[(1.0, 1, 0.0, False)]], [[(1.0, 0, 0.0, False)], [(1.0, 2, 1.0, True)]], [[(1.0, 2, 0.0, True)]]]
    assert read_tables(Corridor(table)).available.tolist() == [[True, False], [True, True], [True, False]]


def test_an_end_where_episodes_also_begin_or_go_on_is_missing_mass():
    table = {s: {a: [(1.0, s, 0.0, False)] for a in range(2)} for s in range(3)}
    table[0][1] = [(0.5, 1, 1.0, True), (0.5, 1, 1.0, False)]
    mdp = read_tables(Corridor(table)).mdp(discount=0.9)
    assert not mdp.terminal.any()
    assert [array.tolist() for array in mdp.next_states(0, 1)] == [[1], [0.5]]
    table[0][1] = [(1.0, 0, 1.0, True)]
    assert read_tables(Corridor(table)).mdp(discount=0.9).next_states(0, 1)[0].size == 0


def outcome(*entries):
    table = copy.deepcopy(Corridor().P)
    table[1][1] = list(entries)
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (outcome((0.5, 2, 0.0, True)), "state 1, action 1: probabilities must sum to 1, got 0.5"),
        (outcome((1.5, 2, 0.0, True)), "state 1, action 1: a probability must lie in 0..1"),
        (outcome((np.nan, 2, 0.0, True)), "a probability must lie in 0..1"),
        (outcome((1.0, 3, 0.0, True)), r"next states must lie in 0..2, got 3"),
        (outcome((1.0, 1.0, 0.0, True)), r"next states must lie in 0..2, got 1.0"),
        (outcome((1.0, 2, np.inf, True)), "a reward be finite"),
        (outcome((1.0, 2, 0.0)), "an outcome must have 4 entries"),
        (outcome((1.0, 2, 0.0, "no")), "done must be True or False, got 'no'"),
        (outcome(), "probabilities must sum to 1, got 0"),
        ({0: {0: 5}}, "outcomes must be a list, got 5"),
        ({"a": {0: [(1.0, 0, 0.0, False)]}}, "state 'a', action 0: there are states 0..2"),
        ({0: {0: [(1.0, 0, 0.0, False)]}}, "state 1: it has no row"),
        (7, r"must map each state and action to its outcomes, got int"),
    ],
)
def test_wrong_tables_are_refused(table, message):
    with pytest.raises(InputError, match=message):
        read_tables(Corridor(table))


def test_all_mistakes_are_counted_and_the_first_listed():
    table = {s: {a: [(0.9, s, 0.0, False)] for a in range(2)} for s in range(6)}
    with pytest.raises(InputError, match=r"got 12 mistakes:\n  state 0, action 0: (.*\n)+  and 7 more\nCorrect"):
        read_tables(Corridor(table, size=6, initial=[1.0, 0, 0, 0, 0, 0]))


def test_where_episodes_begin_must_be_known():
    env = Corridor(initial=None)
    with pytest.raises(InputError, match=r"has no initial_state_distrib\. Say initial="):
        read_tables(env)
    assert read_tables(env, initial="uniform").initial.tolist() == [1 / 3] * 3
    assert read_tables(env, initial=[0.5, 0.5, 0]).initial.tolist() == [0.5, 0.5, 0.0]
    with pytest.raises(InputError, match="initial must be one of uniform, got 'start'"):
        read_tables(env, initial="start")
    with pytest.raises(UnsupportedError, match="began in state 0, which has no chance"):
        read_tables(Corridor(initial=[0.0, 1.0, 0.0]))


class Drifting(Corridor):
    def step(self, action):
        self.P = copy.deepcopy(self.P)
        self.P[2][0] = [(1.0, 1, self.P[2][0][0][2] - 1.0, False)]
        return super().step(action)


class Lying(Corridor):
    def step(self, action):
        self.s = 1
        return 1, -1.0, False, False, {}


class Unfair(Corridor):
    """Possible by the table, but for another chance than it says."""

    def step(self, action):
        result = super().step(action)
        if result[2] and self.np_random.random() < 0.5:
            self.s = 1
            return 1, -1.0, False, False, {}
        return result


class Generous(Corridor):
    def step(self, action):
        after, reward, *rest = super().step(action)
        return after, reward + 1.0, *rest


class Vague(Corridor):
    def reset(self, *, seed=None, options=None):
        return np.array([0.0]), {}


class Outside(Corridor):
    def reset(self, *, seed=None, options=None):
        return 5, super().reset(seed=seed)[1]


class Unseeded(Corridor):
    def reset(self):
        return 0, {}


class OldReset(Corridor):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class OldStep(Corridor):
    def step(self, action):
        after, reward, done, _, info = super().step(action)
        return after, reward, done, info


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Outside, r"states must lie in 0\.\.2, got 5 from Outside"),
        (Unseeded, r"must have reset\(seed=\.\.\.\).*but that of Unseeded failed"),
        (OldReset, r"reset must give \(observation, info\), got 0 from OldReset"),
        (OldStep, r"step must give \(observation, reward, terminated, truncated, info\), got \(.* from OldStep"),
        (Drifting, "dynamics must stay the same, but the table P of Drifting was another"),
        (Lying, "went from state 1 by action 0 to state 1 and goes on, which P does not allow"),
        (Unfair, "standard deviations from it"),
        (Generous, r"paid 0\.0 for action \d in state 0 where P has -1\. Correct its table"),
        (Vague, r"observations must be the numbers of states, got array\(\[0\.\]\) from Vague"),
    ],
)
def test_environments_that_do_not_do_what_their_table_says(kind, message):
    with pytest.raises(UnsupportedError, match=message):
        read_tables(kind())


def test_frequencies_that_fit_lie_where_chance_puts_them():
    """The statistic has mean 0 and variance 1: within 5 standard errors over 2000 repetitions, also for few trials."""
    rng = np.random.default_rng(0)
    chances = {(0, 0): {(0, False): 0.05, (1, False): 0.95}, (1, 0): {(s, False): 1 / 3 for s in range(3)}}
    found = []
    for _ in range(2000):
        first, second = rng.multinomial(4, [0.05, 0.95]), rng.multinomial(7, [1 / 3] * 3)
        tried = {
            (0, 0): {(s, False): int(n) for s, n in enumerate(first)},
            (1, 0): {(s, False): int(n) for s, n in enumerate(second)},
        }
        found.append(_deviations(chances, tried))
    assert abs(np.mean(found)) < 5 / np.sqrt(2000)
    assert np.var(found) == pytest.approx(1.0, abs=5 * np.std(np.square(found)) / np.sqrt(2000))


def test_fickle_passengers_are_not_in_the_table():
    if "fickle_passenger" not in gymnasium.make(TAXI).unwrapped.__dict__:
        pytest.skip("passengers of this Gymnasium do not change their minds")
    with pytest.raises(UnsupportedError, match="change their minds"):
        read_tables(TAXI, env_options={"fickle_passenger": True})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gymnasium.make("CartPole-v1"), r"states must be numbers .* got Box for CartPole-v1\. Discretise it"),
        (lambda: gymnasium.make("Blackjack-v1"), "states must be numbers from 0 .* got Tuple for Blackjack-v1"),
        (lambda: "nonsense", r"env must be one that can be made|must be one that can be made, got 'nonsense'"),
        (lambda: 5, "env must be a Gymnasium environment or the id of one, got int"),
        (lambda: gymnasium.make_vec("FrozenLake-v1", 2), "got MultiDiscrete .* Give one environment, not a vector"),
        (
            lambda: gymnasium.wrappers.TransformReward(gymnasium.make("FrozenLake-v1"), lambda r: -r),
            "TransformReward may change the states, actions or rewards of FrozenLake-v1.*Give env.unwrapped",
        ),
        (
            lambda: gymnasium.wrappers.TransformObservation(gymnasium.make("FrozenLake-v1"), lambda o: o, None),
            "TransformObservation may change",
        ),
    ],
)
def test_what_has_no_table_of_its_own_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        read_tables(make())


def test_environments_without_a_table_are_told_what_to_do():
    env = Corridor()
    del env.P
    with pytest.raises(UnsupportedError, match=r"got none in Corridor\. Estimate one from its steps"):
        read_tables(env)


def test_other_numberings_are_refused():
    env = Corridor()
    env.observation_space = gymnasium.spaces.Discrete(3, start=1)
    with pytest.raises(UnsupportedError, match=r"got Discrete\(start=1\) for Corridor\. Subtract the start"):
        read_tables(env)


def test_options_of_make():
    with pytest.raises(InputError, match=r"got 'FrozenLake-v1' with \{'colour': 1\}"):
        read_tables("FrozenLake-v1", env_options={"colour": 1})
    with pytest.raises(InputError, match="env_options must go with an id"):
        read_tables(Corridor(), env_options={"size": 3})


def test_neutral_wrappers_are_looked_through():
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("FrozenLake-v1", max_episode_steps=7))
    assert read_tables(env).time_limit == 7
    assert read_tables(env.unwrapped).time_limit is None
