"""Belief: the posterior of a learner after some event, and how the next event changes it.

With SMC it is a set of particles that every answer updates, so that what was known is not computed again. With every
other method it is computed anew from all demonstrations. Either way it follows from the problem, the settings and the
events alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from journeyman.demonstrations import Demonstration, action_counts
from journeyman.errors import InputError
from journeyman.inference import infer, smc
from journeyman.inference.particles import Moves, Particles, SMCSettings
from journeyman.inference.posterior import Posterior
from journeyman.inference.target import Target
from journeyman.learner.records import BEFORE
from journeyman.learner.seeding import POSTERIOR, stream_seed
from journeyman.learner.settings import LearnerSettings
from journeyman.problem import Problem

ARRAYS = ("positions", "values", "policies", "moved_counts", "counts", "log_weights")
NUMBERS = ("num_stages", "moved_log_evidence", "seconds")


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior after the event `event_number`: particles with SMC, else the samples themselves."""

    event_number: int
    particles: Particles | None = None
    samples: Posterior | None = None

    @cached_property
    def posterior(self) -> Posterior:
        """Weighted samples."""
        if self.particles is not None:
            return smc.posterior_of(self.particles)
        assert self.samples is not None
        return self.samples

    def to_snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return plain data and arrays from which `from_snapshot` makes it again; empty if it is to be inferred."""
        particles = self.particles
        if particles is None:
            return {}, {}
        kept = {name: getattr(particles, name) for name in NUMBERS} | {"moves": particles.moves._asdict()}
        facts = {"belief_event": self.event_number, "particles": kept}
        return facts, {name: np.array(getattr(particles, name)) for name in ARRAYS}

    @classmethod
    def from_snapshot(cls, problem: Problem, settings: LearnerSettings, snapshot: Mapping[str, Any]) -> "Belief | None":
        """Return the belief that a snapshot holds, or None if it holds none."""
        state = snapshot["state"]
        if state["belief_event"] is None:
            return None
        kept = state["particles"]
        arrays: dict[str, Any] = {name: np.ascontiguousarray(snapshot[name]) for name in ARRAYS}
        num_states = problem.mdp.num_states
        if arrays["values"].shape[1:] != (num_states,):
            raise InputError(
                f"a snapshot must belong to its problem of {num_states} states, got values of shape "
                f"{arrays['values'].shape}. Restore without it: snapshot=None."
            )
        target = None if problem.prior.is_discrete else Target(problem).with_counts(arrays["moved_counts"])
        particles = Particles(
            target=target,
            problem=problem,
            settings=SMCSettings(**{**settings.inference_options, "num_particles": settings.num_particles}),
            seed=settings.seed,
            moves=Moves(**kept["moves"]),
            **{name: kept[name] for name in NUMBERS},
            **arrays,
        )
        return cls(int(state["belief_event"]), particles)


def first_belief(problem: Problem, settings: LearnerSettings, num_threads: int | None) -> Belief:
    """Return the belief before any event."""
    if settings.is_smc:
        options = {**settings.inference_options, "num_particles": settings.num_particles}
        return Belief(BEFORE, smc.start(problem, seed=settings.seed, num_threads=num_threads, **options))
    return inferred_belief(problem, settings, BEFORE, (), num_threads)


def inferred_belief(
    problem: Problem,
    settings: LearnerSettings,
    event_number: int,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
) -> Belief:
    """Return the belief after an event from all demonstrations that count then, for methods other than SMC."""
    seed = stream_seed(settings.seed, POSTERIOR, event_number + 1)
    options = dict(settings.inference_options)
    samples = infer(problem, demonstrations, settings.inference, seed=seed, num_threads=num_threads, **options)
    return Belief(event_number, samples=samples)


def updated_belief(
    problem: Problem,
    settings: LearnerSettings,
    belief: Belief | None,
    event_number: int,
    demonstrations: Iterable[Demonstration],
    num_threads: int | None,
) -> Belief:
    """Return the belief after the next event that changed what counts.

    Parameters
    ----------
    belief
        After the last such event. Only SMC looks at it.
    demonstrations
        All that count now.
    """
    if not settings.is_smc:
        return inferred_belief(problem, settings, event_number, demonstrations, num_threads)
    assert belief is not None and belief.particles is not None
    counts = action_counts(demonstrations, problem.mdp.num_states, problem.mdp.num_actions)  # checked when they came
    return Belief(event_number, smc.advance(belief.particles, counts, num_threads=num_threads))
