"""Opening a study to look at it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from journeyman.study import Study


def opened_to_look(file: Path, num_threads: int | None = None) -> "Study":
    """Open a study that will not be changed.

    It is opened for writing where that is allowed, so that a posterior which had to be computed is kept; a study that
    is write-protected, lies in such a folder, or has several names, is only read.
    """
    from journeyman.study import Study
    from journeyman.study.database import several_names

    is_protected = file.is_file() and (
        not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)) or several_names(file) is not None
    )
    return Study.open(file, num_threads=num_threads, read_only=is_protected)
