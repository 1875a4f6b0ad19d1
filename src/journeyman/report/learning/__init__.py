"""The report on a learner: numbers (`summarise_learning`) and pages of them; `compare` sets learners side by side."""

from journeyman.report.html import checked_page_path, write_page
from journeyman.report.learning.comparison import compare, comparison_report
from journeyman.report.learning.page import learning_report
from journeyman.report.learning.summary import summarise_learning

__all__ = ["checked_page_path", "compare", "comparison_report", "learning_report", "summarise_learning", "write_page"]
