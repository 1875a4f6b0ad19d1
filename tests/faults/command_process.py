"""Runs commands of `journeyman`, one after the other, in a process that was forked (see forked.py), until it is killed.

What it is to do next it finds out as a person would, by looking at the study. Each command that ended with 0 is written
down, with a word by which its effect is found in the study.
"""

import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from study.tiny import SETTINGS, tiny_problem

from journeyman.__main__ import kept_interrupts, main
from journeyman.errors import JourneymanError
from journeyman.study import Study

ACTIONS = 5


def prepare():
    """Load commands and compiled code."""
    with tempfile.TemporaryDirectory() as name, redirect_stdout(StringIO()):
        folder = Path(name)
        Study.create(folder / "a.study", tiny_problem(), num_threads=1, **SETTINGS).close()
        for word in ("ask", "tell", "correct", "undo", *WORDS[6:]):
            code = do(command(np.random.default_rng(0), folder, f"warm-{word}", word))
            assert code == 0, word
        assert do(["study", "status", folder / "a.study", "--threads", 1]) == 0


def do(arguments):
    """Run a command in this process, and return its exit code."""
    sys.argv = ["journeyman", *map(str, arguments)]
    try:
        main()
    except SystemExit as stop:
        return stop.code or 0
    return 0


def command(rng, folder, tag, word):
    """Return the arguments of a command, None where the study is not ready for it; `tag` names what it does."""
    file, action = folder / "a.study", int(rng.integers(ACTIONS))
    with Study.open(file, num_threads=1) as study:
        pending, answers = study.pending, study.answers
    if word == "ask":
        return ["study", "ask", file, "--new", "--threads", 1, "--json"]
    if word == "attach":
        return ["study", "attach", file, f"0:{action}", "--by", tag]
    if word == "import":
        source = folder / f"{tag}.csv"
        source.write_text(f"state,action,annotator\n1,{action},{tag}\n0,{action},{tag}\n")
        return ["study", "import", file, source]
    if word == "export":
        return ["study", "export", file, folder / "answers.csv"]
    if word == "history":
        return ["study", "export", file, folder / "history.json", "--what", "history"]
    if word in ("clone", "backup"):
        return ["study", word, file, folder / f"{tag}.study"]
    if word == "tell":
        return ["study", "tell", file, pending[0].id, action, "--by", tag] if pending else None
    told = [answer for answer in answers if isinstance(answer, int)]
    if not told:
        return None
    chosen = told[int(rng.integers(len(told)))]
    return (
        ["study", "undo", file, chosen] if word == "undo" else ["study", "correct", file, chosen, action, "--by", tag]
    )


WORDS = ("ask", "tell", "tell", "tell", "undo", "correct", "attach", "import", "export", "history", "clone", "backup")


def run(folder, acknowledged, seed, commands=None, user=None):
    """Do one command after the other, for as long as it lives; or some that are given, as some user."""
    if user is not None and user != os.geteuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    if commands is not None:
        for arguments in commands:
            print(f"ended {do(arguments)}", flush=True)
        return 0
    with kept_interrupts():  # between commands, too
        return run_until_stopped(Path(folder), acknowledged, seed)


def run_until_stopped(folder, acknowledged, seed):
    """Do one command after the other, and write down those that were acknowledged."""
    rng = np.random.default_rng(seed)
    log, number = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 0
    while True:
        word, number = str(rng.choice(WORDS)), number + 1
        tag = f"{'-'.join(map(str, seed))}-{number}"
        try:
            arguments = command(rng, folder, tag, word)
        except JourneymanError as error:
            print(f"Error: {error}", flush=True)
            return 98
        if arguments is None:
            continue
        code = do(arguments)
        if code == 130:
            return code
        if code == 0:
            os.write(log, (json.dumps({"word": word, "tag": tag, "to": str(arguments[3])}) + "\n").encode())
        elif code != 1:  # 1: another process was quicker
            return code
