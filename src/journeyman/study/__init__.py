"""Studies: a learner that is kept in one file, and what goes in and out of it."""

from journeyman.study.log import StudyOverview, Verdict
from journeyman.study.merging import MergeItem, MergeReport
from journeyman.study.study import Study

__all__ = ["MergeItem", "MergeReport", "Study", "StudyOverview", "Verdict"]
