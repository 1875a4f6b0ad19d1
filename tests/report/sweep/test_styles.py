from journeyman.report.sweep.group import default_baseline, query_words
from journeyman.report.sweep.styles import STYLES, legend_rows, method_styles, ordered_methods


def test_known_methods_look_the_same_in_every_figure():
    few = method_styles(["nuPAC-EIG", "mine", "random"])
    many = method_styles([*STYLES, "another", "mine"])
    assert few["random"] == many["random"] == STYLES["random"]
    assert few["nuPAC-EIG"] == many["nuPAC-EIG"] == STYLES["nuPAC-EIG"]


def test_styles_differ():
    styles = method_styles([*STYLES, *(f"method {number:02}" for number in range(24))])
    assert len(set(styles.values())) == len(styles) == len(STYLES) + 24
    colours = [style.colour for style in STYLES.values()]
    assert len(set(colours)) == len(colours)


def test_unknown_methods_get_styles_by_name_whatever_their_order():
    assert method_styles(["b", "a", "c"]) == method_styles(["c", "b", "a"])
    assert method_styles(["a", "b"])["a"] == method_styles(["a", "b", "c"])["a"]


def test_order_of_legends():
    assert ordered_methods(["zoo", "regret_pac", "ant", "random"]) == ("random", "regret_pac", "ant", "zoo")


def test_rows_of_legends():
    assert [legend_rows(number) for number in (1, 7, 8, 14, 15)] == [1, 1, 2, 2, 3]


def test_words_for_queries():
    assert query_words("state") == "single annotations"
    assert query_words("trajectory-5") == "trajectories of up to 5 steps"
    assert query_words("my label") == "my label"


def test_baseline_is_the_best_of_the_paper_or_the_first():
    assert default_baseline(["random", "PAC-EIG", "zoo"]) == "PAC-EIG"
    assert default_baseline(["zoo", "ant"]) == "zoo"
