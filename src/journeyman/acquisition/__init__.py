"""Acquisition functions: where to ask the expert next. Scores `[S]` by name, all with one interface.

>>> from journeyman import ACQUISITIONS
>>> sorted(ACQUISITIONS.builtin)
['action_entropy', 'active_var', 'expected_regret', 'failure_chance', 'ir_eig',
'optimal_action_value', 'pac_eig', 'policy_entropy', 'random', 'regret_eig', 'regret_pac',
'reward_eig']
>>> ACQUISITIONS["pac_eig"].unit
'nats'
"""

from journeyman.acquisition.batch import Batch, choose_batch
from journeyman.acquisition.goals import RewardKnowledge, default_acquisition, reward_knowledge
from journeyman.acquisition.registry import ACQUISITIONS, Acquisition
from journeyman.acquisition.scores import Rating, Scores, ScoringContext
from journeyman.acquisition.scoring import score

__all__ = [
    "ACQUISITIONS",
    "Acquisition",
    "Batch",
    "Rating",
    "RewardKnowledge",
    "Scores",
    "ScoringContext",
    "choose_batch",
    "default_acquisition",
    "reward_knowledge",
    "score",
]
