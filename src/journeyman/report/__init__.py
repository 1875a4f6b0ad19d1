"""Reports: what there is to say in numbers (`summary`), and then as pictures, pages, and text in the terminal.

Pictures need the extra `plot`; it is imported when one is made.
"""

from journeyman.report.drawing.maps import posterior_map, save_figure, state_map, world_figure
from journeyman.report.world.summary import WorldSummary, summarise_world

__all__ = ["WorldSummary", "posterior_map", "save_figure", "state_map", "summarise_world", "world_figure"]
