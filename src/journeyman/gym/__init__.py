"""Gymnasium and journeyman (extra `gym`): environments as worlds, problems as environments, episodes of both.

`FiniteMDP.from_gymnasium` reads dynamics, `gymnasium_world` a whole world with the environment's own reward;
`JourneymanEnv` is any problem as an environment; `play` lets a policy act in an environment, and gives demonstrations
and returns. Nothing is registered with Gymnasium.
"""

from journeyman.gym.environment import JourneymanEnv
from journeyman.gym.playing import Played, play
from journeyman.mdp.gymnasium_tables import GymnasiumTables, GymnasiumWarning, read_tables
from journeyman.worlds.gymnasium import environment_reward_model, gymnasium_world, own_parameters

__all__ = [
    "GymnasiumTables",
    "GymnasiumWarning",
    "JourneymanEnv",
    "Played",
    "environment_reward_model",
    "gymnasium_world",
    "own_parameters",
    "play",
    "read_tables",
]
