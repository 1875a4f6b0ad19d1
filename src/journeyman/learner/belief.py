"""Belief: the posterior of a learner after some event, and how the next event changes it.

With SMC it is a set of particles that every answer updates, so that what was known is not computed again. With every
other method it is computed anew from all demonstrations. Either way it follows from the problem, the settings and the
events alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from journeyman.demonstrations import Demonstration, action_counts
from journeyman.inference import infer, smc
from journeyman.inference.particles import Particles
from journeyman.inference.posterior import Posterior
from journeyman.learner.settings import LearnerSettings
from journeyman.learner.streams import POSTERIOR, stream_seed
from journeyman.problem import Problem

BEFORE = -1  # event number of the belief before any event


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
        After the last such event; None if there was none. Only SMC looks at it.
    demonstrations
        All that count now.
    """
    if not settings.is_smc:
        return inferred_belief(problem, settings, event_number, demonstrations, num_threads)
    particles = (belief or first_belief(problem, settings, num_threads)).particles
    assert particles is not None
    counts = action_counts(demonstrations, problem.mdp.num_states, problem.mdp.num_actions)  # checked when they came
    return Belief(event_number, smc.advance(particles, counts, num_threads=num_threads))
