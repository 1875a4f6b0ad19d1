"""Posteriors over rewards: inference methods by name, all with one interface.

>>> from journeyman import INFERENCE
>>> sorted(INFERENCE.builtin)
['enumerate', 'policywalk', 'smc', 'valuewalk', 'variational']
"""

from journeyman.inference.diagnostics import Diagnostics
from journeyman.inference.entropy import posterior_entropy
from journeyman.inference.methods import INFERENCE, Incremental, Method, infer
from journeyman.inference.posterior import Posterior
from journeyman.inference.smc import Snapshot
from journeyman.inference.target import Target

__all__ = [
    "INFERENCE",
    "Diagnostics",
    "Incremental",
    "Method",
    "Posterior",
    "Snapshot",
    "Target",
    "infer",
    "posterior_entropy",
]
