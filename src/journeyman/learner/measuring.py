"""What a step changed: entropy and regret of the posterior after it."""

from journeyman.apprentice import APPRENTICES
from journeyman.apprentice.failures import failures_of
from journeyman.errors import InputError
from journeyman.inference import posterior_entropy
from journeyman.inference.posterior import Posterior
from journeyman.learner.events import Event
from journeyman.learner.ledger import Ledger, attached_ids
from journeyman.learner.records import AnswerId, StepRecord
from journeyman.learner.settings import LearnerSettings


def step_record(
    before: Ledger,
    after: Ledger,
    event: Event,
    ask: Event | None,
    settings: LearnerSettings,
    posterior: Posterior | None,
    seconds: float,
) -> StepRecord:
    """Return the record of an event that changed the posterior.

    Parameters
    ----------
    before, after
        The ledger around the event.
    ask
        The event that asked the query, if it was asked.
    posterior
        After the event; None if it was not computed, which leaves its numbers out.
    seconds
        That the update took.
    """
    answers = _answers(before, event)
    query = None if isinstance(answers[0], str) else after.queries[answers[0]]
    scores, acquisition_seconds = None, None
    if ask is not None:
        scores = ask.payload["scores"]
        acquisition_seconds = ask.payload["seconds"] / len(ask.payload["queries"])
    warnings: tuple[str, ...] = ()
    entropy = method = chance = regret = None
    if posterior is not None:
        warnings = posterior.warnings
        policy = APPRENTICES[settings.apprentice].policy_fn(posterior, settings.epsilon)
        failures = failures_of(posterior, policy, settings.epsilon, settings.scope)
        chance = min(1.0, float(posterior.mean(failures.is_failing)))
        regret = float(posterior.mean(failures.regret))
        try:
            estimate = posterior_entropy(posterior)
            entropy, method = estimate.nats, estimate.method
        except InputError as error:
            warnings = (*warnings, f"the entropy is unknown: {error}")
    return StepRecord(
        number=event.number,
        name=event.name,
        answers=answers,
        query=query,
        scores=scores,
        num_demonstrations=len(after.answers),
        entropy=entropy,
        entropy_method=method,
        failure_chance=chance,
        expected_regret=regret,
        posterior_seconds=seconds,
        acquisition_seconds=acquisition_seconds,
        warnings=warnings,
    )


def _answers(before: Ledger, event: Event) -> tuple[AnswerId, ...]:
    """Return the ids of the answers that an event is about."""
    if event.name == "attach":
        return attached_ids(before, event)
    return (event.payload["query" if event.name == "tell" else "answer"],)
