import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from report.html_checks import checked_page
from report.learners import EVIL, grid_summary, plain_summary

from journeyman.acquisition import ACQUISITIONS, Acquisition, Rating
from journeyman.apprentice.certificate_text import HEADLINES
from journeyman.errors import InputError, MissingExtraError
from journeyman.learner import ActiveLearner, simulate
from journeyman.learner.records import Forecast
from journeyman.report import html as html_page
from journeyman.report.html import data_address, picture
from journeyman.report.learning import comparison_report, figures as learning_figures, learning_report, write_page
from journeyman.report.learning.comparison import compare
from journeyman.report.learning.summary import summarise_learning
from journeyman.worlds import make_world

SECTIONS = ("certificate", "model", "actions", "learned", "limits", "asked", "course", "diagnostics")
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def grid_page():
    return learning_report(grid_summary())


@pytest.fixture(scope="module")
def plain_page():
    return learning_report(plain_summary())


def test_the_report_has_all_sections_and_pictures(grid_page):
    page = checked_page(grid_page)
    assert [name for name in page.ids if name in SECTIONS] == list(SECTIONS)
    assert len(page.images) == 7
    certificate = grid_summary().certificate
    for words in (*certificate.assumptions, *certificate.reasons, HEADLINES[certificate.status]):
        assert " ".join(words.split()) in page.text
    for item in grid_summary().asked:
        assert item.why in page.text
    assert "Taken back, and counted no more: 1 answer." in page.text


def test_a_forecast_is_shown_where_there_is_one(grid_page):
    title = "How many more answers it may take"
    assert title not in checked_page(grid_page).text
    forecast = Forecast((3, 5, None), 50)
    page = checked_page(learning_report(replace(grid_summary(), forecast=forecast)))
    assert title in page.text and forecast.text() in page.text


def test_numbers_in_the_tables_are_those_of_the_summary(grid_page):
    page, summary = checked_page(grid_page), grid_summary()
    for point in summary.course:
        assert f"{point.expected_regret:.3g}" in page.text
    for mean in summary.parameters.mean:
        assert f"{mean:.4g}" in page.text


def test_it_works_without_a_grid_and_escapes_labels(plain_page):
    page = checked_page(plain_page)
    assert set(SECTIONS) <= set(page.ids)
    assert len(page.images) == 7
    assert EVIL in page.text and "<b>go</b>" in page.text  # as text
    assert "<script" not in plain_page and "<b>go" not in plain_page
    assert "3 of 6 directions" in page.text


def test_a_report_before_any_answer():
    learner = ActiveLearner(make_world("random-grid", 1, size=2).problem, inference_options={"num_particles": 100})
    page = checked_page(learning_report(summarise_learning(learner, "new")))
    assert "learned from 0 demonstrations" in page.text
    assert "Nothing yet." in page.text


def test_the_same_learner_gives_the_same_page(grid_page):
    assert learning_report(grid_summary()) == grid_page


def test_without_matplotlib_the_numbers_are_still_there():
    def no_figure():
        raise MissingExtraError("matplotlib is needed. Install it.", name="matplotlib")

    markup = picture(no_figure, alt="a", caption="the <map>")
    assert "No picture here (the &lt;map&gt;): matplotlib is needed. Install it." in markup
    assert picture(lambda: None, alt="a", caption="b") == ""


def test_large_pictures_become_png(monkeypatch):
    figure = learning_figures.parameter_figure(grid_summary().parameters)
    assert data_address(figure).startswith("data:image/svg+xml;base64,")
    monkeypatch.setattr(html_page, "MAX_SVG_BYTES", 10)
    assert data_address(figure).startswith("data:image/png;base64,")


def test_figures_show_the_numbers():
    summary = grid_summary()
    figure = learning_figures.progress_figure({"a": summary, "b": replace(summary, course=summary.course[:2])})
    chances, regrets, entropies = figure.axes
    assert chances.lines[0].get_ydata().tolist() == [point.failure_chance for point in summary.course]
    assert regrets.lines[1].get_ydata().tolist() == [point.expected_regret for point in summary.course[:2]]
    assert entropies.lines[0].get_ydata().tolist() == [point.entropy for point in summary.course]
    figure = learning_figures.parameter_figure(summary.parameters, truth=summary.parameters.mean + 1.0)
    segments = figure.axes[0].collections[0].get_segments()
    assert [[part[0][0], part[1][0]] for part in segments] == summary.parameters.intervals.tolist()


def test_the_page_of_a_comparison():
    world = make_world("random-grid", 1, size=3)
    options = {"inference_options": {"num_particles": 100}, "seed": 0}
    learners = {name: ActiveLearner(world.problem, acquisition=name, **options) for name in ("pac_eig", "random")}
    page = checked_page(comparison_report(compare(world, learners, 2), ("journeyman worlds",)))
    assert {"race", "world", "next", *SECTIONS} <= set(page.ids)
    assert len(page.images) == 11
    assert "pac_eig against random in random-3x3" in page.text
    assert "journeyman worlds" in page.text


def test_writing_is_whole_or_not_at_all(tmp_path, grid_page):
    path = write_page(grid_page, tmp_path / "report.html")
    assert path.read_text("utf-8") == grid_page
    assert list(tmp_path.iterdir()) == [path]
    for wrong, message in (
        (tmp_path, "folder"),
        (tmp_path / "a.pdf", "end in .html"),
        (tmp_path / "no" / "a.html", "exist"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            write_page(grid_page, wrong)


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs a browser: Chromium or Chrome")
def test_a_browser_shows_every_picture(tmp_path, grid_page):
    """The browser counts, after loading, the images that have a size, by a script that only this test adds."""
    counter = (
        "<script>addEventListener('load', () => { const all = [...document.images]; "
        "document.title = all.filter(i => i.naturalWidth > 50).length + ' of ' + all.length; });</script></body>"
    )
    path = tmp_path / "report.html"
    path.write_text(grid_page.replace("</body>", counter), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    shown = subprocess.run([*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120)
    assert "<title>7 of 7</title>" in shown.stdout


@pytest.mark.parametrize(("unit", "words"), [("votes", "2 votes"), ("", "highest score: 2")])
def test_a_function_from_outside_may_have_a_new_unit_or_none(unit, words):
    def rate_by_number(posterior, context):
        """Ask in the state with the highest number."""
        return Rating(2.0 * (context.states == context.states.max()))

    ACQUISITIONS.register("highest", Acquisition("the highest number", rate_by_number, unit))
    try:
        world = make_world("random-grid", 1, size=3)
        learner = ActiveLearner(world.problem, acquisition="highest", inference_options={"num_particles": 100}, seed=0)
        simulate(learner, world.expert, 1, progress=False)
        page = checked_page(learning_report(summarise_learning(learner, "outside")))
    finally:
        ACQUISITIONS.unregister("highest")
    assert words in page.text
    assert "chosen by chance" not in page.text
