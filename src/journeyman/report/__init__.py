"""Numbers for plots (`world_summary`), and thin drawing of them (`terminal`, `figures`).

`figures` needs the extra `plot`; it is imported when a figure is made.
"""

from journeyman.report.drawing.maps import posterior_map, save_figure, state_map, world_figure
from journeyman.report.world.summary import WorldSummary, summarise_world

__all__ = ["WorldSummary", "posterior_map", "save_figure", "state_map", "summarise_world", "world_figure"]
