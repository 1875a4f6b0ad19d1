"""The colours of figures: Okabe and Ito's, then Tol's, which people with any colour vision tell apart."""

BLUE, VERMILLION, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, GREY = "#e69f00", "#56b4e9", "#7f7f7f"
WINE, INDIGO, FOREST, PURPLE = "#882255", "#332288", "#117733", "#aa4499"
OLIVE, BROWN, TEAL, ROSE, BLACK = "#999933", "#661100", "#44aa99", "#cc6677", "#000000"
COLOURS = (
    *(BLUE, VERMILLION, GREEN, PINK, ORANGE, SKY, GREY, WINE),
    *(INDIGO, FOREST, PURPLE, OLIVE, BROWN, TEAL, ROSE, BLACK),
)
PALE_GREY = "#b9c0c8"  # of what stands behind
