"""`journeyman study ask`, `correct`, `set`, `clone`, `sheet` and `merge`, as a user types them."""

import csv
import io
import re
import shutil
import sys
from pathlib import Path

import pytest
from cli.command import command

from journeyman.errors import InputError
from journeyman.study import Study


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = command(monkeypatch, capsys, columns=100)
    return lambda line: found(*line.split())


def refused(run, line):
    code, out, err = run(line)
    assert (code, out) == (1, ""), line
    return err


def test_asking_again_shows_the_question_again(study, succeed):
    """Friction 5: who ran ask again to reread the question got another one, and questions piled up."""
    first = succeed("study ask my.study --json")
    assert succeed("study ask my.study --json") == first
    out = succeed("study ask my.study")
    assert out.startswith(f"Question 0: {first[0]['text']}\nAnswer with: journeyman study tell my.study 0 ACTION")
    assert "This question waits for an answer. To ask another: journeyman study ask my.study --new" in out
    assert succeed("study status my.study --quick --json")["num_queries"] == 1


def test_batches_fill_up_and_new_ones_add(study, succeed, run):
    assert [query["id"] for query in succeed("study ask my.study --json")] == [0]
    assert [query["id"] for query in succeed("study ask my.study --batch 3 --json")] == [0, 1, 2]
    assert [query["id"] for query in succeed("study ask my.study --batch 2 --json")] == [0, 1, 2]
    assert [query["id"] for query in succeed("study ask my.study --new --json")] == [3]
    assert [query["id"] for query in succeed("study ask my.study --new --batch 2 --json")] == [4, 5]
    assert "These 6 questions wait for an answer." in succeed("study ask my.study")
    assert "at least 1, got 0" in refused(run, "study ask my.study --new --batch 0")
    succeed("study new b.study --problem problem.toml --inference-set num_particles=100")
    assert "at least 1, got 0" in refused(run, "study ask b.study --batch 0")


def test_an_answer_is_followed_by_the_next_question(study, succeed):
    """20 questions took 40 commands: tell did not show the next question."""
    _, second = succeed("study ask my.study --batch 2 --json")
    out = succeed("study tell my.study 0 right")
    assert f"Next, question 1: {second['text']}\nAnswer with: journeyman study tell my.study 1 ACTION" in out
    assert out.startswith("Kept the answer to question 0.")
    assert succeed("study tell my.study 1 right").endswith("Next: journeyman study ask my.study\n")
    succeed("study ask my.study --batch 2")
    assert succeed("study tell my.study 3 stay --json")["next"]["id"] == 2
    assert succeed("study tell my.study 2 stay --json")["next"] is None


def test_ask_says_that_the_certificate_holds(succeed):
    """Friction 5: it never said that the certificate already holds."""
    succeed("study new a.study --world lopes-two-state --inference enumerate --epsilon 5")
    assert succeed("study ask a.study").startswith("Question 0: ")  # nobody has looked yet
    succeed("study status a.study")
    assert succeed("study ask a.study").startswith("The certificate holds, but is not confirmed yet. To do that: ")
    succeed("study certify a.study")
    said = "The certificate holds already: no more answers are needed for it. See: journeyman study certify a.study\n"
    assert succeed("study ask a.study").startswith(said)
    assert len(succeed("study ask a.study --new --json")) == 1  # programs get questions, as ever
    succeed("study tell a.study 0 1")
    succeed("study tell a.study 1 1")
    assert "the certificate may hold by now. See: journeyman study certify a.study" in succeed("study ask a.study")


def test_status_checks_the_model_in_full_only_once(succeed, monkeypatch):
    """A full check takes long; what it found is kept until the next answer, and status says it again."""
    from journeyman.learner import learner
    from journeyman.study import Study, store

    succeed("study new a.study --world lopes-two-state --inference enumerate --epsilon 5")
    succeed("study tell a.study 0 1" if succeed("study ask a.study --json") else "")
    asked, criticise = [], learner.criticise

    def watched(*arguments, is_full, **options):
        asked.append(is_full)
        return criticise(*arguments, is_full=is_full, **options)

    monkeypatch.setattr(learner, "criticise", watched)
    assert "Certificate: holds." in succeed("study status a.study") and asked == [True]
    assert "Certificate: holds." in succeed("study status a.study") and asked == [True, False]
    with Study.open("a.study") as study:
        (number,) = {row[0] for row in study._connection.execute("SELECT event_number FROM verdicts")}
        store.write_verdict(study._connection, number, "certificate", "doubtful")
        study._connection.commit()
    said = succeed("study status a.study")
    assert "holds, but the model is doubtful" in said and "journeyman study doubts a.study says why" in said
    assert asked == [True, False, False]


def test_other_tables_are_not_merged(study, run, tmp_path):
    """A merge takes no columns of other names, so its advice is not to name them."""
    for name, text in (("cut.csv", "question,answer\n0,right\n"), ("empty.csv", "")):
        (tmp_path / name).write_text(text)
        code, _, err = run(f"study merge my.study {name}")
        assert code == 1 and "an answer sheet, a copy of the study or an export" in err and "--columns" not in err


def test_long_choices_show_how_far_they_are(study, monkeypatch, run):
    """Defect 11: asking for 500 questions at once was silent for 8 minutes."""
    from journeyman.learner import asking

    shown, choose = [], asking.choose_batch

    def watched(*arguments, report_fn, **options):
        return choose(*arguments, report_fn=lambda done: (shown.append(done), report_fn(done)), **options)

    monkeypatch.setattr(asking, "choose_batch", watched)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    code, _, err = run("study ask my.study --batch 4")
    assert code == 0 and shown == [0.25, 0.5, 0.75, 1.0]
    assert "Choosing 4 questions" in err


def test_a_slip_is_corrected(study, succeed, run):
    """Friction 6, on the command line: the question and who answered stay."""
    succeed("study ask my.study")
    succeed("study tell my.study 0 right --by ada")
    assert succeed("study correct my.study 0 left") == "Corrected the answer to question 0.\n"
    record = succeed("study correct my.study 0 up --by bob --json")
    assert (record["answer"], record["before"]["annotator"], record["demonstration"]["annotator"]) == (0, "ada", "bob")
    assert record["demonstration"]["query_id"] == 0
    succeed("study attach my.study house:right")
    assert succeed("study correct my.study attached-0 stay --json")["demonstration"]["steps"] == [[0, 0]]
    succeed("study correct my.study attached-0 house:right path:right --final pond")
    assert "attached-0 must be corrected step by step" in refused(run, "study correct my.study attached-0 up")
    status = succeed("study status my.study --quick --json")
    assert (status["num_demonstrations"], status["num_undone"]) == (2, 0)
    assert "must change something" in refused(run, "study correct my.study 0 up")
    assert "only an answer can be corrected" in refused(run, "study correct my.study attached-4 up")
    succeed("study ask my.study")
    assert "Tell its answer: `journeyman study tell my.study 1 ANSWER`." in refused(run, "study correct my.study 1 up")


def test_nothing_terminates_where_nothing_ends(study, run, succeed):
    """Defect 11: attach --ended terminated was taken where nothing terminates."""
    assert "nothing ends there. Say that it was truncated" in refused(
        run, "study attach my.study house:right --ended terminated"
    )
    succeed("study attach my.study house:right --ended truncated")


def test_settings_can_be_changed(study, succeed, run):
    """Friction 4: settings were fixed for life."""
    out = succeed("study set my.study max_burn_in=24 max_samples=500")
    assert out == "max_burn_in is 24 now, it was at its default.\nmax_samples is 500 now, it was 16000.\n"
    assert succeed("study set my.study max_burn_in=default --json") == {
        "changes": {"max_burn_in": None},
        "before": {"max_burn_in": 24},
    }
    settings = succeed("study status my.study --quick --json")["settings"]
    assert (settings["max_samples"], settings["inference_options"]) == (500, {"num_particles": 100})
    err = refused(run, "study set my.study epsilon=0.3")
    assert "`journeyman study clone my.study NEW.study --set epsilon=VALUE`." in err and "clone(" not in err
    assert "Did you mean 'max_leapfrog'?" in refused(run, "study set my.study maxleapfrog=9")
    assert "must be written as KEY=VALUE" in refused(run, "study set my.study max_samples")
    assert "fixed for the life" not in run("study new --help")[1]


def test_advice_about_computing_is_a_command(study, succeed, run):
    """Friction 4: a certificate advised to raise max_burn_in, which a study could not do."""
    from journeyman.cli.study.options import computing_advice

    advised = [
        "particles are too much alike. Raise max_burn_in or max_leapfrog.",
        "means are noisy. Use more particles.",
    ]
    with Study.open("my.study") as opened:
        assert computing_advice("my.study", opened, advised) == [
            "To do so: journeyman study set my.study max_burn_in=24",
            "To do so: journeyman study set my.study max_leapfrog=400",
            "To do so: journeyman study set my.study num_particles=200",
        ]
        assert computing_advice("my.study", opened, ["all is well"]) == []
        certificate = "What would help: raise\nmax_samples, or accept more\nregret, or give it more time (max_seconds)"
        assert computing_advice("my.study", opened, [certificate]) == [
            "To do so: journeyman study set my.study max_samples=32000",
            "To give it more time: journeyman study certify my.study --max-seconds 60",
            "For another epsilon: journeyman study clone my.study NEW.study --set epsilon=VALUE",
        ]
    for line in ("max_samples=32000", "max_burn_in=24", "max_leapfrog=400", "num_particles=200"):
        succeed(f"study set my.study {line}")
    succeed("study attach my.study house:right")
    code, out, _ = run("study certify my.study")
    assert code == 3 and "For another epsilon: journeyman study clone my.study NEW.study --set epsilon=VALUE" in out


def test_a_clone_has_other_settings(study, succeed, run):
    succeed("study ask my.study --batch 2")
    succeed("study tell my.study 0 right --by ada")
    sets = "--set epsilon=5% --set delta=0.2 --set inference.num_particles=200 --set acquisition=pac_eig"
    made = succeed(f"study clone my.study b.study {sets} --set acquisition.edges=0,1 --json")
    settings = made["settings"]
    assert (settings["epsilon"], settings["delta"]) == ("5%", 0.2)
    assert settings["inference_options"] == {"num_particles": 200}
    assert (settings["acquisition"], settings["acquisition_options"]) == ("pac_eig", {"edges": [0.0, 1.0]})
    assert (made["num_demonstrations"], [query["id"] for query in made["pending"]]) == (1, [1])
    assert "Made c.study with 1 answers" in succeed("study clone my.study c.study --set kind=trajectory --set length=3")
    err = refused(run, "study clone my.study d.study --set kind=trajectory")
    assert "Say how many steps: --set length=5" in err
    assert "--set inference.num_particles=VALUE" in refused(run, "study clone my.study d.study --set num_particles=200")
    assert "Did you mean 'epsilon'?" in refused(run, "study clone my.study d.study --set epsilom=3")
    assert "must not overwrite" in refused(run, "study clone my.study b.study")
    changed, count = re.subn(r"(?m)^beta = [\d.]+", "beta = 2", Path("problem.toml").read_text("utf-8"))
    assert count == 1
    Path("other.toml").write_text(changed, "utf-8")
    succeed("study clone my.study d.study --problem other.toml")
    with Study.open("d.study", read_only=True) as opened:
        assert (opened.problem.beta, len(opened.answers)) == (2.0, 1)


def test_a_sheet_goes_out_and_its_answers_come_back(study, succeed, run, tmp_path):
    assert "Wrote 2 questions to sheet.csv." in succeed("study sheet my.study --batch 2 -o sheet.csv")
    assert len(succeed("study sheet my.study --out form.html --json")["queries"]) == 2
    rows = list(csv.DictReader(io.StringIO((tmp_path / "sheet.csv").read_text("utf-8-sig"))))
    rows[0]["answer"], rows[0]["annotator"] = "right", "ada"
    with (tmp_path / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert "would" not in succeed("study merge my.study filled.csv --dry-run")
    assert succeed("study status my.study --quick --json")["num_done"] == 0
    record = succeed("study merge my.study filled.csv --json")
    assert (record["counts"]["told"], record["num_events"], record["is_dry_run"]) == (1, 1, False)
    assert record["items"][0]["theirs"]["annotator"] == "ada"
    assert succeed("study merge my.study filled.csv") == "Here already, skipped: 1\nNothing is new.\n"
    assert "a table (.csv) or a form (.html)" in refused(run, "study sheet my.study -o sheet.docx")


def test_a_colleagues_copy_is_merged(study, succeed, run, tmp_path):
    """Defect 2, on the command line: question 0 was told in a copy."""
    succeed("study attach my.study house:right path:right --final pond --by ada")
    succeed("study ask my.study --batch 2")
    shutil.copyfile("my.study", "his.study")
    succeed("study tell his.study 0 right --by bob")
    succeed("study export his.study his.csv")
    shutil.copyfile("my.study", "again.study")
    out = succeed("study merge my.study his.study")
    assert out == "Answers to questions that waited here: 1\nHere already, skipped: 1\n"
    assert succeed("study merge again.study his.csv") == out
    for name in ("my.study", "again.study"):
        status = succeed(f"study status {name} --quick --json")
        assert (status["num_demonstrations"], status["num_done"], len(status["pending"])) == (2, 1, 1)
    succeed("study tell my.study 1 left --by ada")
    succeed("study tell his.study 1 right --by bob")
    err = refused(run, "study merge my.study his.study")
    assert "here left by ada, in his.study right by bob" in err and "--prefer ours or --prefer theirs" in err
    assert "theirs counts" in succeed("study merge my.study his.study --prefer theirs")
    with Study.open("my.study", read_only=True) as opened:
        assert opened.answers[1].annotator == "bob"
    assert "prefer must be one of" in refused(run, "study merge my.study his.study --prefer mine")


def test_errors_keep_their_kind():
    """What advice says in Python is said in commands, and nothing else of a message changes."""
    from journeyman.cli.study.options import in_commands

    said = "To change its answer: correct(attached-0, ...). Or undo(3), clone(kind=...)."
    assert in_commands(said, "a.study") == (
        "To change its answer: `journeyman study correct a.study attached-0 ANSWER`. Or `journeyman study undo a.study "
        "3`, `journeyman study clone a.study NEW.study --set kind=VALUE`."
    )
    assert in_commands(str(InputError("as it is")), "a.study") == "as it is"


def test_advice_about_settings_is_for_the_command_that_was_typed(run, study):
    assert "Example: journeyman study set my.study max_burn_in=24" in refused(run, "study set my.study max_burn_in")
    err = refused(run, "study clone my.study new.study --set beta=3")
    assert "beta belongs to the problem" in err and "--problem COPY.toml" in err and "delta'?" not in err
