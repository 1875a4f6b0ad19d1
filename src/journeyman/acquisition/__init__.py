"""Acquisition functions: where to ask the expert next. Scores `[S]` by name, all with one interface."""

from journeyman.acquisition.batch import Batch, choose_batch
from journeyman.acquisition.goals import RewardKnowledge, default_acquisition, reward_knowledge
from journeyman.acquisition.registry import ACQUISITIONS, Acquisition, find_acquisition
from journeyman.acquisition.scores import Scores
from journeyman.acquisition.scoring import score

__all__ = [
    "ACQUISITIONS",
    "Acquisition",
    "Batch",
    "RewardKnowledge",
    "Scores",
    "choose_batch",
    "default_acquisition",
    "find_acquisition",
    "reward_knowledge",
    "score",
]
