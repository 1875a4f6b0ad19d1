"""`journeyman study`: a study in a file, without writing Python."""

from journeyman.cli.study import asking, exporting, files, looking
from journeyman.cli.study.options import app

__all__ = ["app", "asking", "exporting", "files", "looking"]
