"""Studies: a learner that is kept in one file, and what goes in and out of it."""

from journeyman.study.log import StudyOverview
from journeyman.study.study import Study

__all__ = ["Study", "StudyOverview"]
