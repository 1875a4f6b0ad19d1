"""The structured gridworld: a known goal, three obstacles of unknown reward, and a jail.

The paper's figure is not in its text, so the layout is ours. The lower right is fenced in by all three obstacles: from
there the expert shows which it minds least, or that it minds all of them more than staying.
"""

import numpy as np

from journeyman.mdp import Grid
from journeyman.problem import Problem
from journeyman.rewards import LinearFeatures, Uniform
from journeyman.worlds.gridworld import MOVES, gridworld
from journeyman.worlds.world import World, world_rng

LAYOUT = (
    "G.....",
    "......",
    "...MMM",
    "..W...",
    "..L...",
    "J.L...",
)
KINDS = {".": "neutral", "G": "goal", "J": "jail", "M": "mud", "W": "water", "L": "lava"}
KNOWN_REWARDS = {"neutral": -1.0, "goal": 100.0, "jail": -10.0}
OBSTACLES = ("mud", "water", "lava")


def jail(seed: int = 0, *, beta: float = 4.0, discount: float = 0.9, slip: float = 0.1) -> World:
    """6x6 grid with goal +100, three obstacle types of unknown reward U(-100, 0), and a jail nobody leaves."""
    kinds = tuple(KINDS[letter] for row in LAYOUT for letter in row)
    kind = np.array(kinds)
    ordinary = (kind != "goal") & (kind != "jail")
    mdp = gridworld(
        len(LAYOUT),
        len(LAYOUT[0]),
        discount=discount,
        slip=slip,
        terminal=kind == "goal",
        absorbing=kind == "jail",
        initial=ordinary / ordinary.sum(),
        grid=Grid(len(LAYOUT), len(LAYOUT[0]), moves=MOVES, kinds=kinds),
    )
    features = np.stack([kind == obstacle for obstacle in OBSTACLES], axis=1).astype(float)
    offset = np.array([KNOWN_REWARDS.get(k, 0.0) for k in kinds])
    model = LinearFeatures(features, mdp, offset=offset, names=OBSTACLES)
    prior = Uniform(len(OBSTACLES), -100.0, 0.0)
    truth = prior.sample(world_rng("jail", seed), 1)[0]
    return World("jail", seed, Problem(mdp, model, prior, beta), truth, max_length=20)
