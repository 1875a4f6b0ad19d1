"""`journeyman study`: a study in a file, without writing Python."""

from journeyman.cli.study import asking, exporting, files, interview, looking, pictures, sharing
from journeyman.cli.study.options import app

__all__ = ["app", "asking", "exporting", "files", "interview", "looking", "pictures", "sharing"]
