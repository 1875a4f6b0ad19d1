"""Figures are drawn with few colours, and the rare ones stay what they are."""

import numpy as np
from PIL import Image

from reproduction.pages.figures import NUM_COLOURS, few_colours


def test_a_rare_colour_is_not_taken_for_a_common_one():
    shades = np.arange(256)
    pixels = np.stack([shades, shades, np.full(256, 255)], axis=-1).astype(np.uint8)
    pixels = np.repeat(pixels[None], 64, axis=0)  # more shades of blue than colours are kept
    pixels[:4, :4] = (213, 94, 0)
    pixels[8:12, :4] = (230, 159, 0)
    picture = few_colours(Image.fromarray(pixels))
    assert len(picture.getcolors()) <= NUM_COLOURS
    drawn = np.asarray(picture.convert("RGB")).astype(int)
    assert np.abs(drawn - pixels).max() < 10


def test_few_colours_are_kept():
    picture = Image.new("RGB", (8, 8), (255, 255, 255))
    picture.putpixel((3, 3), (1, 2, 3))
    assert np.array_equal(np.asarray(few_colours(picture).convert("RGB")), np.asarray(picture))
