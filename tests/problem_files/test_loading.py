import sqlite3

import numpy as np
import pytest

from journeyman.errors import InputError
from journeyman.experts import Beta, Boltzmann, Gamma, LogNormal
from journeyman.problem_files import load_problem, write_example
from journeyman.problem_files.explanation import explain, explanation_lines
from journeyman.problem_files.records import problem_from_record, problem_to_record
from journeyman.rewards import Discrete, MultivariateNormal, Normal, Uniform

EDGES = "state,action,next_state,probability\n0,0,0,1\n0,1,1,1\n1,0,1,1\n1,1,2,0.5\n1,1,0,0.5\n"
PLAIN = """
discount = 0.9
[transitions]
file = "edges.csv"
[reward]
model = "per_state"
[prior]
kind = "normal"
std = 2.0
[expert]
beta = 4.0
"""


@pytest.fixture
def load(tmp_path):
    """Load a problem from text; other files stand beside it."""

    def load_text(text=PLAIN, **files):
        (tmp_path / "edges.csv").write_text(EDGES)
        for name, content in files.items():
            target = tmp_path / name.replace("_dot_", ".")
            if isinstance(content, str):
                target.write_text(content)
            else:
                np.savez(target, **content)
        (tmp_path / "problem.toml").write_text(text)
        return load_problem(tmp_path / "problem.toml")

    return load_text


def replaced(old, new, text=PLAIN):
    assert old in text
    return text.replace(old, new)


def test_a_plain_problem(load):
    problem = load()
    mdp = problem.mdp
    assert (mdp.num_states, mdp.num_actions, mdp.discount, problem.beta) == (3, 2, 0.9, 4.0)
    assert mdp.terminal.tolist() == [False, False, True]
    assert problem.queryable.tolist() == [True, True, False]
    assert isinstance(problem.prior, Normal)
    assert problem.prior.std.tolist() == [2.0] * 3
    assert np.allclose(mdp.initial, 1 / 3)


def test_labels_initial_queryable_and_grid(load):
    problem = load(
        PLAIN
        + """
[states]
labels = ["home", "road", "goal"]
initial = { home = 0.25, road = 0.75 }
queryable = ["road"]
[actions]
labels = ["wait", "go"]
[grid]
layout = ["#h", "rG"]
kinds = { G = "goal" }
moves = [[0, 0], [0, 1]]
"""
    )
    mdp = problem.mdp
    assert mdp.initial.tolist() == [0.25, 0.75, 0.0]
    assert problem.queryable.tolist() == [False, True, False]
    assert (mdp.state_name(1), mdp.action_name(1)) == ("road", "go")
    assert mdp.grid.places.tolist() == [[0, 1], [1, 0], [1, 1]]
    assert mdp.grid.kinds == ("plain", "plain", "goal")


def test_initial_states_by_number_and_reachable_questions(load):
    problem = load(PLAIN + '[states]\ninitial = [1]\nqueryable = "reachable"\n')
    assert problem.mdp.initial.tolist() == [0.0, 1.0, 0.0]
    assert problem.queryable.tolist() == [True, True, False]


def test_terminal_states_are_checked_against_the_transitions(load):
    labels = '[states]\nlabels = ["home", "road", "goal"]\nterminal = '
    assert load(PLAIN + labels + '["goal"]').mdp.terminal.tolist() == [False, False, True]
    assert load(PLAIN + labels + "[]\ninitial = [0]").mdp.terminal.tolist() == [False, False, False]
    with pytest.raises(InputError, match=r"^\[states\], line 14 of problem.toml: a terminal state must have empty"):
        load(PLAIN + labels + '["road"]')


def test_arrays_need_a_layout(load):
    dense = np.zeros((2, 3, 3))
    dense[0, 0, 0] = dense[0, 1, 1] = dense[1, 0, 1] = 1.0
    dense[1, 1, [0, 2]] = 0.5
    text = replaced('file = "edges.csv"', 'file = "dense.npz"')
    with pytest.raises(InputError, match="layout must be given"):
        load(text, dense_dot_npz={"transitions": dense})
    problem = load(replaced('npz"', 'npz"\nlayout = "ASS"', text), dense_dot_npz={"transitions": dense})
    assert np.array_equal(problem.mdp.dense_transitions(), load().mdp.dense_transitions())


def test_a_saved_mdp(load, tmp_path):
    load().mdp.save(tmp_path / "mdp.npz")
    problem = load(replaced('"edges.csv"', '"mdp.npz"'))
    assert np.array_equal(problem.mdp.dense_transitions(), load().mdp.dense_transitions())


def test_walls_may_be_drawn_by_spaces(load):
    problem = load(PLAIN + '[grid]\nwall = " "\nlayout = [" h", "rG"]\n')
    assert problem.mdp.grid.places.tolist() == [[0, 1], [1, 0], [1, 1]]


def test_missing_actions_need_a_word(load):
    fewer = EDGES.replace("0,1,1,1\n", "")
    text = replaced('"edges.csv"', '"fewer.csv"')
    with pytest.raises(InputError, match='missing_actions = "unavailable"'):
        load(text, fewer_dot_csv=fewer)
    said = replaced('"fewer.csv"', '"fewer.csv"\nmissing_actions = "unavailable"', text)
    assert load(said, fewer_dot_csv=fewer).mdp.available.tolist() == [[True, False], [True, True], [True, True]]


@pytest.mark.parametrize(
    ("prior", "kind"),
    [
        ('kind = "uniform"\nlow = -1.0\nhigh = [1.0, 2.0, 3.0]', Uniform),
        ('kind = "discrete"\natoms = [[0, 1, 2], [2, 1, 0]]\nprobabilities = [0.25, 0.75]', Discrete),
        ('kind = "multivariate_normal"\ncovariance = [[2, 1, 0], [1, 2, 1], [0, 1, 2]]', MultivariateNormal),
        (
            'kind = "multivariate_normal"\nstd = 2.0\nlength_scale = 1.0\n[grid]\nrows = 1\ncolumns = 3',
            MultivariateNormal,
        ),
    ],
)
def test_priors(load, prior, kind):
    problem = load(replaced('kind = "normal"\nstd = 2.0', prior))
    assert type(problem.prior) is kind
    assert problem.prior.num_parameters == 3


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_covariance_from_a_file(load, separator):
    text = replaced('kind = "normal"\nstd = 2.0', 'kind = "multivariate_normal"\ncovariance = "c.csv"')
    prior = load(text, c_dot_csv="\ufeff2,1,0\n1,2,1\n0,1,2.5\n".replace(",", separator)).prior
    assert prior.covariance.tolist() == [[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.5]]


def test_a_smooth_prior_follows_the_distance(load):
    text = 'kind = "multivariate_normal"\nstd = 2.0\nlength_scale = 1.0\n[grid]\nrows = 1\ncolumns = 3'
    covariance = load(replaced('kind = "normal"\nstd = 2.0', text)).prior.covariance
    expected = 4.0 * np.exp(-0.5 * np.array([0.0, 1.0, 4.0]))
    assert np.allclose(covariance[0], expected, atol=4e-6)  # 1e-6 of the variance is added to the diagonal


def test_features_from_a_table(load):
    text = replaced('"per_state"', '"features"\nfeatures = "f.csv"')
    problem = load(text, f_dot_csv="state,offset,mud,sand\n0,1,1,0\n2,-1,0,2\n")
    assert problem.reward_model.names == ("mud", "sand")
    assert problem.reward_model.reward([10.0, 100.0]).tolist() == [11.0, 0.0, 199.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (replaced("discount = 0.9\n", ""), "discount must be given at the top of the file, got none"),
        (replaced("discount", "discont"), "got 'discont' at line 2 of problem.toml. Did you mean 'discount'?"),
        (replaced("[prior]", "[prio]"), "Did you mean 'prior'?"),
        (replaced("std = 2.0", "sdt = 2.0"), "got 'sdt' at line 9 of problem.toml. Did you mean 'std'?"),
        (replaced("std = 2.0", "std = -2.0"), "line 9 of problem.toml: std must be positive"),
        (replaced('"normal"', '"gaussian"'), "kind must be one of normal, uniform"),
        (replaced("std = 2.0\n", ""), "std must be given in [prior], got none in line 7"),
        (replaced("beta = 4.0", "beta = 0"), "line 11 of problem.toml: beta must be positive"),
        (replaced("discount = 0.9", "discount = 1.5"), "line 2 of problem.toml: discount"),
        (replaced('"edges.csv"', '"nowhere.csv"'), "got 'nowhere.csv' at line 4"),
        (replaced('"per_state"', "per_state"), "must be TOML, but: Invalid value (at line 6"),
        (replaced('"per_state"', '"perstate"'), "Did you mean 'per_state'?"),
        (PLAIN + '[states]\ninitial = ["hime"]\n', "line 13 of problem.toml: a state must be a number in 0..2"),
        (PLAIN + "[grid]\nlayout = ['..']\n", "[grid], line 13 of problem.toml: a grid must place all"),
        (PLAIN + "[actions]\nlabels = ['go', 'go']\n", "[actions], line 13 of problem.toml: labels must all differ"),
    ],
)
def test_mistakes_are_named_with_their_line(load, text, message):
    with pytest.raises(InputError) as caught:
        load(text)
    assert message in str(caught.value)


def test_a_broken_edge_is_named_with_its_line(load):
    with pytest.raises(InputError) as caught:
        load(replaced('"edges.csv"', '"wrong.csv"'), wrong_dot_csv=EDGES + "1,x,1,1\n")
    assert "at line 7 of wrong.csv" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", bytes(100)])
@pytest.mark.parametrize(
    ("old", "new"), [('"edges.csv"', '"x.npz"'), ('"per_state"', '"features"\nfeatures = "x.npz"')]
)
def test_arrays_that_cannot_be_read_are_said(load, tmp_path, old, new, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(
        InputError, match=r"problem.toml: x\.npz must be an .npz file of numbers, but reading it failed"
    ):
        load(replaced(old, new))


def test_what_is_no_problem_file(tmp_path):
    with pytest.raises(InputError, match="write an example: journeyman init"):
        load_problem(tmp_path / "problem.toml")
    with pytest.raises(InputError, match="got the folder"):
        load_problem(tmp_path)
    with sqlite3.connect(tmp_path / "my.study") as database:
        database.execute("create table t (x)")
        database.execute("pragma user_version = 244")  # no text in any encoding that begins with ASCII
    database.close()
    with pytest.raises(
        InputError, match=r"got my\.study, which is a study\. Look at that with: journeyman study status"
    ):
        load_problem(tmp_path / "my.study")


def test_the_example_runs_and_is_never_overwritten(tmp_path):
    paths = write_example(tmp_path / "new")
    assert [path.name for path in paths] == ["problem.toml", "transitions.csv"]
    problem = load_problem(paths[0])
    assert problem.mdp.num_states == 8
    assert problem.mdp.state_name(int(np.flatnonzero(problem.mdp.terminal)[0])) == "gate"
    paths[0].write_text("mine")
    with pytest.raises(InputError, match=r"must not overwrite files, got problem.toml and .*in Python force=True"):
        write_example(tmp_path / "new")
    assert paths[0].read_text() == "mine"
    write_example(tmp_path / "new", force=True)
    load_problem(paths[0])


def test_an_expert_of_whom_not_everything_is_known(load):
    problem = load(
        replaced(
            "beta = 4.0",
            "beta = { lognormal = [4.0, 0.7] }\nlapse = { beta = [1, 9] }\n"
            'values = "soft"\nannotators = ["anna", "ben"]',
        )
    )
    assert problem.expert == Boltzmann(LogNormal(4.0, 0.7), Beta(1.0, 9.0), "soft", ("anna", "ben"))
    assert load(replaced("beta = 4.0", "beta = 4\nlapse = 0.1")).expert == Boltzmann(4.0, 0.1)
    assert load(replaced("beta = 4.0", "beta.gamma = [2, 4.0]")).expert == Boltzmann(Gamma(2.0, 4.0))
    again = problem_from_record(problem_to_record(problem))
    assert again.expert == problem.expert


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "beta = { lognorml = [4.0, 0.7] }",
            r"line 11 of problem\.toml: .* got 'lognorml'\. Did you mean 'lognormal'\?",
        ),
        ("beta = { lognormal = 4.0 }", r"line 11 .*lognormal of beta must have 2 numbers \(median, sigma\), got 4\.0"),
        ("beta = 4.0\nlapse = 1.5", r"line 12 .*lapse must be a chance below 1, got 1\.5"),
        ("beta = 4.0\nlapse = { gamma = [1, 9] }", r"line 12 .*the prior of lapse must lie between 0 and 1, got gamma"),
        ('beta = 4.0\nvalues = "sof"', r"line 12 .*values must be one of optimal, soft, got 'sof'"),
        ('beta = 4.0\nannotators = ["anna"]', r"annotators must have something of their own, got anna"),
        ("beta = 4.0\nper_annotator = true", r"got 'per_annotator' at line 12 .*Did you mean 'annotators'\?"),
        ("lapse = 0.1", r"beta must be given in \[expert\]"),
        ("beta = 0\nlapse = 0.1", r"line 11 of problem\.toml: beta must be positive"),
    ],
)
def test_what_is_wrong_with_an_expert_is_said_with_its_line(load, lines, message):
    with pytest.raises(InputError, match=message):
        load(replaced("beta = 4.0", lines))


def test_what_is_not_known_of_an_expert_is_explained(load):
    problem = load(replaced("beta = 4.0", "beta = { lognormal = [4.0, 0.7] }\nlapse = { beta = [1, 9] }"))
    found = explain(problem, num_rewards=50)
    (sentence,) = [text for title, text in explanation_lines(found) if title == "Expert"]
    assert "unknown beta (log-normal, median 4, 95 % between 1.01 and 15.8)" in sentence
    assert "picks a best action" in sentence
    assert found.to_record()["beta"] is None
    assert found.to_record()["expert"] == problem.expert.to_record()


WORDS = "state,action,next_state,probability\nhome,wait,home,1\nhome,go,road,1\nroad,wait,road,1\nroad,go,goal,0.5\n"
WORDS += "road,go,home,0.5\n"
LABELS = """
[states]
labels = ["home", "road", "goal"]
[actions]
labels = ["wait", "go"]
"""


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("labels", ["", LABELS])
def test_transitions_by_label(load, labels, separator):
    """Friction 1 and defect 7: labels are taken in transitions, declared or brought by the table itself."""
    text = replaced('"edges.csv"', '"words.csv"') + labels
    problem = load(text, words_dot_csv="\ufeff" + WORDS.replace(",", separator))
    assert problem.mdp.state_labels == ("home", "road", "goal")
    assert problem.mdp.action_labels == ("wait", "go")
    assert np.array_equal(problem.mdp.dense_transitions(), load().mdp.dense_transitions())


def test_collected_labels_are_known_everywhere_else(load):
    text = replaced('"edges.csv"', '"words.csv"') + '[states]\ninitial = ["road"]\nqueryable = ["home", 1]\n'
    problem = load(text, words_dot_csv=WORDS)
    assert problem.mdp.initial.tolist() == [0.0, 1.0, 0.0]
    assert problem.queryable.tolist() == [True, True, False]
    with pytest.raises(
        InputError, match=r"\[states\], line 14 of problem\.toml: .*got 'hoome'\. Did you mean 'home'\?"
    ):
        load(text.replace("home", "hoome"), words_dot_csv=WORDS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "home,go,road",
            "home,go,raod",
            "[transitions], line 4 of problem.toml: column next_state, line 3 of words.csv: a state must be a label or "
            "a number in 0..2, got 'raod'. Did you mean 'road'?",
        ),
        ("road,go,goal,0.5", "road,go,goal,0.6", "got 1.1 at state 'road', action 'go' (lines 5 and 6 of words.csv)"),
        ("home,go,road,1", "home,go,road,0.5", 'or say missing_mass = "terminates" in [transitions] if the rest is'),
        ("home,go,road,1", "home,go,road,1\nhome,go,road,1", "Line 4 of words.csv repeats next state 'road' of line 3"),
        ("home,go,road,1\n", "", "got none at state 'home', action 'go' (others of that state at line 2 of words.csv)"),
        ("home,go,road,1", 'home,go,road,"1,0"', "got '1,0' at line 3 of words.csv. A comma may separate columns"),
    ],
)
def test_errors_of_transitions_name_file_line_and_labels(load, old, new, message):
    """Defects 4, 7 and 10."""
    with pytest.raises(InputError) as caught:
        load(replaced('"edges.csv"', '"words.csv"') + LABELS, words_dot_csv=replaced(old, new, WORDS))
    assert message in str(caught.value)


def test_features_by_label(load):
    """Friction 1: labels are taken in tables of features, with semicolons too."""
    text = replaced('"per_state"', '"features"\nfeatures = "f.csv"') + LABELS
    problem = load(text, f_dot_csv="state;offset;mud;sand\nhome;1;1;0\n2;-1;0;2\n")
    assert problem.reward_model.reward([10.0, 100.0]).tolist() == [11.0, 0.0, 199.0]
    by_action = load(text, f_dot_csv="state,action,mud\nhome,go,1\nroad,1,2\n")
    assert by_action.reward_model.reward([10.0]).tolist() == [[0.0, 10.0], [0.0, 20.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("state,mud\nhoome,1\n", "column state, line 2 of f.csv: a state must be a label .* Did you mean 'home'"),
        ("state,mud\nhome,1\n0,2\n", "got state 0 at line 2 and again at line 3. Remove one"),
        ("state,mud\nhome,much\n", "mud must be a number, got 'much' at line 2 of f.csv"),
        ("state,mud,mud\nhome,1,2\n", "different names, got mud twice"),
        ("state,mud\n", "a header and at least one line below it"),
        ("node,mud\nhome,1\n", "must have a column state and one column per parameter, got node, mud"),
    ],
)
def test_errors_of_features_name_line_and_column(load, table, message):
    text = replaced('"per_state"', '"features"\nfeatures = "f.csv"') + LABELS
    with pytest.raises(InputError, match=message):
        load(text, f_dot_csv=table)


def test_priors_by_state(load):
    prior = "mean = { goal = 8.0, others = 0.5 }\nstd = { home = 1.0, 1 = 2.0, goal = 3.0 }"
    problem = load(replaced("std = 2.0", prior) + LABELS)
    assert problem.prior.mean.tolist() == [0.5, 0.5, 8.0]
    assert problem.prior.std.tolist() == [1.0, 2.0, 3.0]
    text = replaced("std = 2.0", "std = { home = { go = 3.0, wait = 2.0 }, road = 4.0, others = 1.0 }") + LABELS
    by_action = load(replaced('"per_state"', '"per_state_action"', text))
    assert by_action.prior.std.tolist() == [2.0, 3.0, 4.0, 4.0, 1.0, 1.0]
    assert [name for name, _, _ in explain(by_action, num_rewards=20).prior.parameters][:2] == [
        "wait in home",
        "go in home",
    ]
    atoms = replaced('kind = "normal"\nstd = 2.0', 'kind = "discrete"\natoms = "atoms.csv"') + LABELS
    found = load(atoms, atoms_dot_csv="goal,home,road,probability\n3,1,2,0.25\n0,0,0,0.75\n").prior
    assert found.atoms.tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("std", "message"),
    [
        ("{ home = 1.0, goal = 1.0 }", "got none for road. Name each of them, or add others = 1.0 for the rest"),
        ("{ gaol = 1.0, others = 1.0 }", "line 9 of problem.toml: a state must be a label .* Did you mean 'goal'"),
        ("{ goal = 1.0, 2 = 1.0, others = 1.0 }", "must name a parameter once, got goal and 2"),
        ("{ goal = -1.0, others = 1.0 }", "line 9 of problem.toml: std must be positive"),
    ],
)
def test_mistakes_of_priors_by_state(load, std, message):
    with pytest.raises(InputError, match=message):
        load(replaced("std = 2.0", f"std = {std}") + LABELS)


def test_episodes_may_start_anywhere_but_at_the_end(load):
    assert load(PLAIN + '[states]\ninitial = "all"\n').mdp.initial.tolist() == [0.5, 0.5, 0.0]


def test_a_misspelt_next_state_is_asked_about(load):
    """A table that brings its own labels cannot know that "hoome" is none; where episodes end there, check asks."""
    text = replaced('"edges.csv"', '"words.csv"')
    found = explain(load(text, words_dot_csv=replaced("road,go,home", "road,go,hoome", WORDS)), num_rewards=10)
    assert any("Episodes end in hoome, which is spelt nearly like home" in warning for warning in found.warnings)
    assert not any("spelt" in text for text in explain(load(text, words_dot_csv=WORDS), num_rewards=10).warnings)


@pytest.mark.parametrize("text", ["####\n#SG#\n####\n", "...\nS.G\n"])
def test_a_drawn_map_is_no_problem_file_but_becomes_one(tmp_path, text):
    (tmp_path / "my maze.txt").write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"drawn map, .*: journeyman init 'my maze' --from-map '.*my maze\.txt'$"):
        load_problem(tmp_path / "my maze.txt")
