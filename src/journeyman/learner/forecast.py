"""How many more answers it may take: copies of a learner continue with experts drawn from what it believes."""

from collections.abc import Callable

import numpy as np

from journeyman.checks import whole_number
from journeyman.experts import SimulatedExpert
from journeyman.inference.posterior import Posterior
from journeyman.inference.progress import progress_bar
from journeyman.learner.protocol import Learner
from journeyman.learner.records import Forecast
from journeyman.learner.simulate import answered_steps


def forecast_answers(
    copy_fn: Callable[[int], Learner],
    posterior: Posterior,
    rng: np.random.Generator,
    *,
    num_runs: int,
    limit: int,
    progress: bool,
) -> Forecast:
    """Simulate `num_runs` courses of learning, each of at most `limit` more answers.

    Parameters
    ----------
    copy_fn
        copy_fn(seed) gives a learner that stands where the one stands which is asked, with random streams of its own.
    posterior
        Of that learner: each run takes one reward drawn from it for the truth.
    """
    num_runs = whole_number(num_runs, "num_runs", 1, "20 give a rough idea.")
    limit = whole_number(limit, "limit", 0, "It is the number of further answers after which a run is given up.")
    problem = posterior.problem
    runs: list[int | None] = []
    with progress_bar("Simulating what comes", is_shown=progress) as report:
        for run in range(num_runs):
            sample = int(rng.choice(posterior.num_samples, p=posterior.weights))
            reward = problem.reward_model.reward(posterior.theta[sample])
            expert = SimulatedExpert(problem.mdp, reward, problem.expert, seed=int(rng.integers(2**31)))
            learner = copy_fn(int(rng.integers(2**31)))
            runs.append(_answers_needed(learner, expert, limit))
            report((run + 1) / num_runs)
    return Forecast(tuple(runs), limit)


def _answers_needed(learner: Learner, expert: SimulatedExpert, limit: int) -> int | None:
    """Return after how many answers the goal is in sight, None if not within `limit`."""
    if _is_in_sight(learner):
        return 0
    for num_answers, _ in enumerate(answered_steps(learner, expert, steps=limit), start=1):
        if _is_in_sight(learner):
            return num_answers
    return None


def _is_in_sight(learner: Learner) -> bool:
    """Whether the certificate holds; its confirmation would cost as much as all the rest."""
    return learner.is_finished() if learner.settings.goal == "reward" else learner.certificate().holds
