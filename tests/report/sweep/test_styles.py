from journeyman.report.drawing.palette import COLOURS
from journeyman.report.sweep.figure_data import FigureOptions, Style, legend_rows, method_styles, query_words


def test_own_styles_are_kept_and_their_colours_not_given_out_again():
    own = {"mine": Style(COLOURS[0], "-")}
    styles = method_styles(["a", "mine", "b"], own)
    assert list(styles) == ["a", "mine", "b"]
    assert styles["mine"] == own["mine"]
    assert styles["a"].colour == COLOURS[1]


def test_styles_differ():
    styles = method_styles([f"method {number:02}" for number in range(40)])
    assert len(set(styles.values())) == 40
    assert len({style.colour for style in list(styles.values())[: len(COLOURS)]}) == len(COLOURS)


def test_styles_do_not_depend_on_methods_that_come_later():
    assert method_styles(["a", "b"]) == {name: method_styles(["a", "b", "c"])[name] for name in "ab"}


def test_order_of_legends():
    options = FigureOptions(order=["random", "regret_pac", "absent"])
    assert options.ordered(["zoo", "regret_pac", "ant", "random"]) == ("random", "regret_pac", "ant", "zoo")


def test_rows_of_legends():
    assert [legend_rows(number) for number in (1, 7, 8, 14, 15)] == [1, 1, 2, 2, 3]


def test_words_for_queries():
    assert query_words("state") == "single annotations"
    assert query_words("trajectory-5") == "trajectories of up to 5 steps"
    assert query_words("my label") == "my label"


def test_baseline_is_the_one_asked_for_or_the_first():
    assert FigureOptions(baseline="zoo").baseline_among(["ant", "zoo"]) == "zoo"
    assert FigureOptions(baseline="zoo").baseline_among(["bee", "ant"]) == "ant"
    assert FigureOptions(order=["bee"]).baseline_among(["ant", "bee"]) == "bee"
