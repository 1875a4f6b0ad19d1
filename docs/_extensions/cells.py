"""What cells of tutorials find when they run: the commands of this environment, plain output, the data of the example.

IPython's own `%%bash` passes output on in pieces of 100 characters, and MyST-NB puts a line break between pieces. So
each notebook starts with one of ours, which stops at the first command that fails.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

STARTUP = """
import os
import subprocess

from IPython.core.magic import register_cell_magic

os.environ.pop("FORCE_COLOR", None)  # commands print plain text, as into a file


@register_cell_magic
def bash(_, commands):
    done = subprocess.run(
        ["bash", "-e", "-c", commands], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8"
    )
    print(done.stdout, end="")
    done.check_returncode()
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Say all of it in the environment of the notebooks, for as long as the build takes."""
    folder = Path(tempfile.mkdtemp(prefix="journeyman-docs-"))
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "bash.py").write_text(STARTUP, "utf-8")
    os.environ |= {
        "IPYTHONDIR": str(folder),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "COLUMNS": "88",
        "TUTORIAL_DATA": str(Path(__file__).parents[2] / "examples" / "labyrinth"),
    }
    app.connect("build-finished", lambda *_: shutil.rmtree(folder, ignore_errors=True))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
