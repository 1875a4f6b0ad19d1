"""Serves a study in a process that was forked (see forked.py), until it is killed; nothing is computed there."""

import os
import tempfile
from pathlib import Path

import uvicorn
from studio.running import QUICK, TOKEN
from study.tiny import tiny_problem

from journeyman.studio import create_app
from journeyman.studio.serving import bound_socket, serve
from journeyman.study import Study


def prepare():
    """Load everything."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Study.create(Path(folder) / "a.study", tiny_problem(), **QUICK, acquisition="random") as study,
    ):
        create_app(study, token=TOKEN, has_worker=False)
    assert uvicorn.Server


def run(path, port_file):
    """Listen at a port, which a file tells, and serve."""
    listening = bound_socket("127.0.0.1", 0)
    app = create_app(Study.open(path), token=TOKEN, has_worker=False, is_limited=False)
    partial = Path(f"{port_file}.part")
    partial.write_text(str(listening.getsockname()[1]))
    os.replace(partial, port_file)
    serve(app, listening)
    return 0
