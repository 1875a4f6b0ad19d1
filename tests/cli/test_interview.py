"""`journeyman study interview`: at a pseudo terminal, and with lines."""

import io
import os
import re
import select
import signal
import sys
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from cli.command import command
from rich.console import Console

from journeyman.cli.study.desk import Choices, LineDesk, understood
from journeyman.cli.study.interview import Interview, Screen, Watch
from journeyman.errors import InputError
from journeyman.experts import Boltzmann, LogNormal
from journeyman.learner import ActiveLearner, Query
from journeyman.mdp import FiniteMDP
from journeyman.problem import Problem
from journeyman.report.drawing.situations import Situation
from journeyman.rewards import Normal, PerState
from journeyman.study import Study
from journeyman.worlds import make_world

COLOURS = {"TERM": "xterm", "COLORTERM": "truecolor"}
FEW = {"inference_options": {"num_particles": 100}}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run `journeyman` in an empty folder, with lines as its input."""
    monkeypatch.chdir(tmp_path)
    run_command = command(monkeypatch, capsys)

    def run_with(line, *typed):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{word}\n" for word in typed)))
        return run_command(*line.split())

    return run_with


@pytest.fixture
def garden(run):
    """Make a study of the garden of `journeyman init`: 8 labelled states on a grid, 5 labelled actions."""
    run("init")
    assert run("study new my.study --problem problem.toml --inference-set num_particles=100")[0] == 0


def steps_of(path="my.study"):
    with Study.open(path, read_only=True) as study:
        return [(key, study.problem.mdp.action_name(answer.steps[-1][1])) for key, answer in study.answers.items()]


def interview(run, *typed, options=""):
    code, out, err = run(f"study interview my.study {options}", *typed)
    assert (code, err) == (0, ""), err
    return out


def test_one_command_asks_one_question_after_the_other(garden, run):
    """Holds "20 questions: 40 commands, no picture, tell does not show the next question" of the findings."""
    out = interview(run, *["right", "4", "stay", "0"] * 5)
    assert len(steps_of()) == 20
    assert [int(number) for number in re.findall(r"^Question (\d+)", out, re.MULTILINE)] == list(range(21))
    assert len(re.findall(r"\[@\]", out)) >= 21  # a picture with each
    assert re.search(r"You are at \w+ \(row \d, column \d\)\. What would you do\?", out)
    assert "Kept 20 answers; the study has 20 now." in out
    assert "sure of losing less than 0.1, wanted 90 %" in out


def test_the_questions_are_those_of_ask_and_tell(garden, run):
    interview(run, *["4", "2", "4", "1", "4"])
    with Study.open("my.study", read_only=True) as study:
        learner = ActiveLearner.from_settings(study.problem, study.settings)
        for action in (4, 2, 4, 1, 4):
            learner.tell(learner.ask(), action)
        learner.ask()
        assert [query.state for query in study.queries] == [query.state for query in learner.queries]


def test_leaving_and_coming_back_loses_nothing(garden, run):
    interview(run, "right", "quit")
    out = interview(run, "left")
    assert out.startswith("Question 1 ")  # it was open
    assert steps_of() == [(0, "right"), (1, "left")]
    with Study.open("my.study", read_only=True) as study:
        assert [query.id for query in study.pending] == [2]


def test_an_answer_is_stored_before_the_next_question_is_chosen(garden, run, monkeypatch):
    interview(run)
    with monkeypatch.context() as patch:
        patch.setattr(Study, "ask", lambda study: pytest.fail("chosen"))
        with pytest.raises(pytest.fail.Exception, match="chosen"):
            run("study interview my.study", "right")
    assert steps_of() == [(0, "right")]


def test_undo_asks_the_same_question_again(garden, run):
    out = interview(run, "right", "left", "u", "up", "stay")
    assert "Taken back: the answer to question 1." in out
    assert re.search(r"^1 answer\nTaken back", out, re.MULTILINE)  # without the chance that the two answers gave
    asked = [int(number) for number in re.findall(r"^Question (\d+)", out, re.MULTILINE)]
    assert asked == [0, 1, 2, 1, 2, 3]
    assert sorted(name for _, name in steps_of()) == ["right", "stay", "up"]
    out = interview(run, "undo", "undo", "undo", "undo")
    assert "There is no answer to take back." in out


def test_an_answer_of_an_earlier_session_can_be_taken_back(garden, run):
    interview(run, "right")
    out = interview(run, "u", "skip")
    assert "Taken back: the answer to question 0." in out
    assert steps_of() == []


def test_a_skipped_question_comes_back(garden, run):
    out = interview(run, "skip", "right", "right", "right")
    asked = [int(number) for number in re.findall(r"^Question (\d+)", out, re.MULTILINE)]
    assert asked == [0, 1, 2, 3, 0]
    assert interview(run).startswith("Question 0 ")


def test_a_place_that_cannot_be_answered_is_not_asked_about_again(garden, run):
    out = interview(run, *["x"] * 8)
    assert len(set(re.findall(r"You are at (\w+)", out))) == 7  # all that may be asked about, each once
    assert "there must be a state left to ask about" in out


def test_words_that_mean_nothing_are_explained(garden, run):
    out = interview(run, "rihgt", "&", "right")
    words = " ".join(out.split())
    assert "Did you mean 'right'?" in words
    assert "That key means nothing here; ? explains the keys." in words
    assert len(steps_of()) == 1


def test_help_says_what_the_keys_do(garden, run):
    out = interview(run, "?")
    assert "take the last answer back" in out and "comes back later" in out


def annotated_study(path):
    problem = make_world("random-grid", 0, size=3).problem
    expert = Boltzmann(LogNormal(1.0, 0.5), annotators=("ada", "ben"))
    with Study.create(path, replace(problem, expert=expert), **FEW):
        pass


def test_who_answers_is_asked_where_it_matters(run):
    annotated_study("my.study")
    out = interview(run, "carl", "ben", "0")
    assert "Who are you?" in out and "The answers must be by one of ada, ben." in out
    interview(run, "0", options="--by ada")
    with Study.open("my.study", read_only=True) as study:
        assert [answer.annotator for answer in study.answers.values()] == ["ben", "ada"]
    code, _, err = run("study interview my.study --by carl", "0")
    assert code == 1 and "one of the annotators ada, ben" in err


# Runs of several steps


def slippery(chance):
    """A corridor of four places; "go" moves on with a chance, else one stays; the last place ends it."""

    def step(state, action):
        if action == 1:
            return [(1.0, state)]
        return [(chance, state + 1), (1.0 - chance, state)] if chance < 1.0 else [(1.0, state + 1)]

    mdp = FiniteMDP.from_function(
        lambda s, a: [] if s == 3 else step(s, a),
        num_states=4,
        num_actions=2,
        discount=0.9,
        initial=[1.0, 0.0, 0.0, 0.0],
        state_labels=("door", "hall", "stairs", "roof"),
        action_labels=("go", "wait"),
    )
    queryable = np.array([True, False, False, False])
    return Problem(mdp, PerState(mdp), Normal(4, 0.0, 1.0), Boltzmann(2.0), queryable=queryable)


def make_corridor(chance, length=4):
    with Study.create("my.study", slippery(chance), kind="trajectory", length=length, **FEW):
        pass


def only_answer():
    with Study.open("my.study", read_only=True) as study:
        (answer,) = study.answers.values()
        return answer.steps, answer.final_state, answer.ended


def test_a_run_follows_moves_that_are_certain(run):
    make_corridor(1.0)
    out = interview(run, "go", "wait", "undo", "go", "go", "quit")
    assert "Step 1 of at most 4" in out
    assert only_answer() == (((0, 0), (1, 0), (2, 0)), 3, "terminated")


def test_a_run_can_end_early_and_is_not_kept_before_that(run):
    make_corridor(1.0)
    interview(run, "go", "quit")
    with Study.open("my.study", read_only=True) as study:
        assert not study.answers and len(study.pending) == 1
    assert "Do at least one step first." in interview(run, "end", "go", "wait", "end", "quit")
    assert only_answer() == (((0, 0), (1, 1)), 1, "truncated")


def test_where_chance_led_is_asked(run):
    make_corridor(0.5, length=2)
    out = interview(run, "go", "door", "go", "hall", "quit")
    assert "You chose go. Where did it lead?" in out
    assert only_answer() == (((0, 0), (0, 0)), 1, "truncated")


def test_moves_can_be_simulated(run):
    make_corridor(0.5, length=3)
    out = interview(run, *["go"] * 3, "quit", options="--simulate-moves")
    assert "Where did it lead" not in out
    steps, final, ended = only_answer()
    assert all(after - before in (0, 1) for (before, _), (after, _) in pairwise(steps))
    assert final - steps[-1][0] in (0, 1)
    assert ended == ("terminated" if final == 3 else "truncated")


# The end


def certain_study(path):
    world = make_world("lopes-two-state", 0)
    return Study.create(path, world.problem, inference="enumerate", epsilon=5.0)


def test_a_certificate_that_holds_is_announced(tmp_path, monkeypatch, capsys):
    with certain_study(tmp_path / "a.study") as study:
        session = Interview(study, LineDesk(Console(width=100)), None)
        monkeypatch.setattr(sys, "stdin", io.StringIO("0\n"))
        look, looks = session.watch.look, []

        def look_and_wait(chance):
            look(chance)
            if session.watch._ahead is not None:
                looks.append(session.watch._ahead.value(1))

        monkeypatch.setattr(session.watch, "look", look_and_wait)
        session.run()
        session.say_goodbye(session.desk.console)
    out = capsys.readouterr().out
    assert looks[0].is_enough
    assert "After 0 answers the certificate HOLDS: the learner is good enough. You may stop (q), or continue." in out
    assert out.count("certificate HOLDS") >= 3  # with every question after that, and at the end


def test_nobody_looks_for_a_certificate_that_is_far_away(tmp_path):
    with certain_study(tmp_path / "a.study") as study:
        study.ask()
        watch = Watch(study, lambda: None)
        watch.look(0.5)
        assert watch._ahead is None


@pytest.mark.parametrize("height", [6, 8, 12, 16, 24, 60])
def test_a_small_terminal_shows_a_smaller_picture_and_the_whole_question(tmp_path, height):
    with Study.create(tmp_path / "a.study", make_world("random-10x10", 0).problem, **FEW) as study:
        session = Interview(study, LineDesk(Console(file=io.StringIO(), width=80)), None)
        state = int(np.flatnonzero(study.problem.queryable)[40])
        choices = Choices.of_actions(study.problem.mdp, state, has_arrows=True)
        query, situation = Query(0, state, "state", None, 0.0, ""), Situation(study.problem.mdp, state, choices.shown)
        lines = Screen(session, query, "What would you do?", choices, situation).lines(80, height)
    text = "\n".join(line.plain for line in lines)
    assert len(lines) <= height
    assert "What would you do?" in text and "[↑ 1] up" in text and "0 answers" in text
    assert ("[@]" in text) == (height >= 6) and ("u undo" in text) == (height >= 24)


# Keys


def test_keys_are_numbers_of_actions_and_arrows_on_a_grid():
    mdp = make_world("random-grid", 0, size=3).problem.mdp
    choices = Choices.of_actions(mdp, 4, has_arrows=True)
    for action, move in enumerate(mdp.grid.moves.tolist()):
        assert choices.keys[str(action)] == action
        arrow = {(-1, 0): "↑", (1, 0): "↓", (0, -1): "←", (0, 1): "→"}.get(tuple(move), str(action))
        assert choices.shown[action] == arrow and choices.keys[arrow] == action
    assert "↑" not in Choices.of_actions(mdp, 4, has_arrows=False).shown.values()


def test_many_actions_or_labels_like_numbers_have_letters_as_keys():
    for num_actions, labels in ((12, None), (3, ("7", "8", "9"))):
        mdp = FiniteMDP.from_function(
            lambda s, a: [(1.0, 0)], num_states=1, num_actions=num_actions, discount=0.9, action_labels=labels
        )
        choices = Choices.of_actions(mdp, 0, has_arrows=True)
        assert list(choices.shown.values())[:3] == ["a", "b", "c"]
        assert not set(choices.shown.values()) & set("usxeq?h:")
        name = "8" if labels else "11"
        assert understood(name, choices, mdp.action_names.index) == (1 if labels else 11)


def test_what_cannot_be_done_here_is_refused():
    available = np.array([[True, False]])
    mdp = FiniteMDP.from_function(
        lambda s, a: [(1.0, 0)], num_states=1, num_actions=2, discount=0.9, available=available,
        action_labels=("left", "right"),
    )  # fmt: skip
    choices = Choices.of_actions(mdp, 0, has_arrows=True)
    with pytest.raises(InputError, match="possible here, got 'right'"):
        understood("right", choices, mdp.action_names.index)


# A terminal


class Terminal:
    """`journeyman` at a pseudo terminal."""

    def __init__(self, *arguments, size=(40, 100)):
        import fcntl
        import pty
        import struct
        import termios

        self.process, self.file = pty.fork()
        if self.process == 0:
            os.execvpe(sys.executable, [sys.executable, "-m", "journeyman", *arguments], os.environ | COLOURS)
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))

    def press(self, keys):
        time.sleep(0.1)  # the whole screen is there
        os.write(self.file, keys.encode())

    def until(self, pattern, seconds=120.0):
        end, text = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            if select.select([self.file], [], [], 1.0)[0]:
                try:
                    text += os.read(self.file, 65536).decode("utf-8", "replace")
                except OSError:
                    break
                if re.search(pattern, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text), re.DOTALL):
                    return text
        raise AssertionError(f"{pattern!r} did not come: {text[-2000:]!r}")

    def code(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.mark.skipif(not hasattr(os, "forkpty"), reason="needs a pseudo terminal")
def test_at_a_terminal_one_key_is_enough(garden):
    terminal = Terminal("study", "interview", "my.study")
    screen = terminal.until(r"Question 0.*\? help")
    assert "\x1b[?1049h" in screen and "48;2;255;214;10" in screen  # its own screen, in colours
    terminal.press("\x1b[C")
    terminal.until(r"Question 1.*Kept: right\.")
    terminal.press("\x1bOA\x1bOA")  # an arrow of the other mode; the second was pressed too early to be meant
    terminal.until(r"Question 2.*Kept: up\.")
    terminal.press("u")
    terminal.until(r"Question 1.*Taken back")
    terminal.press("0")
    terminal.until(r"Question 2.*Kept: stay\.")
    terminal.press("?")
    terminal.until("Press any key")
    terminal.press("z")
    terminal.until(r"Question 2.*\? help")
    terminal.press("q")
    assert "\x1b[?1049l" in terminal.until("To continue: journeyman study interview")  # the screen is given back
    assert terminal.code() == 0
    assert [name for _, name in steps_of()] == ["right", "stay"]


@pytest.mark.skipif(not hasattr(os, "forkpty"), reason="needs a pseudo terminal")
def test_ctrl_c_leaves_cleanly(garden):
    terminal = Terminal("study", "interview", "my.study", size=(20, 60))
    terminal.until(r"What would you do\?.*stay")
    os.kill(terminal.process, signal.SIGINT)
    terminal.until("Kept 0 answers; the study has 0 now.")
    assert terminal.code() == 0
