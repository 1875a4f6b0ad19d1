"""Reports as self-contained HTML pages: no network, no scripts, light and dark, printable."""

from journeyman.report.html.comparison import comparison_report
from journeyman.report.html.learning import checked_page_path, learning_report, write_page

__all__ = ["checked_page_path", "comparison_report", "learning_report", "write_page"]
