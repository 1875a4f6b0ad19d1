"""ActiveLearner: ask, tell, certificate, apprentice. The one class that remembers.

All that it remembers follows from its problem, its settings and its events; posterior, scores and certificate are
computed from these and kept only to save time.
"""

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from journeyman.acquisition import RewardKnowledge, Scores
from journeyman.apprentice import APPRENTICES, Certificate
from journeyman.apprentice.looks import checked_seconds
from journeyman.criticism import Criticism, criticise, is_quick_to_check
from journeyman.demonstrations import Demonstration
from journeyman.inference.posterior import Posterior
from journeyman.learner.asking import ask_event, checked_batch, choose, rate
from journeyman.learner.belief import prepare_belief
from journeyman.learner.ledger import PROPOSALS, Answer, Ledger, set_event
from journeyman.learner.protocol import LedgerView
from journeyman.learner.records import AnswerId, Event, Forecast, Query, StepRecord
from journeyman.learner.settings import CONFIRMATION_FACTOR, CRITICISM, FORECAST, MAX_SAMPLES, LearnerSettings
from journeyman.learner.state import (
    State,
    advance,
    advance_together,
    compute_belief,
    replay,
    resumed,
    snapshot_of,
)
from journeyman.learner.stopping import (
    certificate_of,
    confirmation_of,
    forecast_answers,
    is_goal_reached,
    knowledge_of,
)
from journeyman.logs import logged
from journeyman.notebooks import html_of
from journeyman.problem import Problem
from journeyman.progress import Report, progress_bar
from journeyman.threads import resolve_num_threads
from journeyman.types import IntArray, read_only
from journeyman.wording import counted

T = TypeVar("T")
FORECAST_SAMPLES = 4000  # that a certificate of a simulated course may draw


class ActiveLearner(LedgerView):
    """Learns what an expert wants by asking where the answer matters most, and says when it may stop.

    The same problem, settings and answers give the same queries, whatever the number of threads, and whether or not
    the learner was stored in between; this is promised for one version on one machine. A method that raises an error
    leaves the learner as it was.

    Parameters
    ----------
    problem
        What is known before: it never holds the true reward.
    acquisition
        How the next question is chosen: a key of `ACQUISITIONS`. Default: what suits the goal and the problem.
    inference
        How the posterior is computed: a key of `INFERENCE`.
    epsilon
        Regret of the apprentice that is too much: in units of the reward, or a share of what is at stake, such as "5%".
    delta
        The chance of that much regret that you accept.
    kind
        What a question asks for: "state", one action there, or "trajectory", several in a row.
    length
        How many actions a trajectory has at most; None with kind "state".
    goal
        When to stop: "policy", once a certificate for `epsilon` and `delta` holds; "reward", once the reward is known.
    seed
        Of everything random.
    confidence, scope, apprentice, costs, step_cost, candidates, num_histories, max_samples, confirmation_factor
        As in `LearnerSettings`, which says more of those above too.
    acquisition_options, inference_options, goal_options
        Options of what they are named after, by name, as in `LearnerSettings`.
    num_threads
        Default: all cores of this process. Nothing but time depends on it.
    max_seconds
        How long a certificate may draw samples, on the clock, besides `max_samples`; a confirmation takes
        `confirmation_factor` times that. Default: no limit. No question depends on it, but whether a claim could be
        decided does: leave it out where results must be the same on every machine.
    is_checked
        Whether the model is checked when a certificate would hold (see `criticism`); nothing but its verdict depends on
        that. False is for simulations, where the model is right and time counts.
    progress
        Whether to show how far long work is. Default: what takes more than a second, on a terminal or in a notebook.

    Examples
    --------
    >>> from journeyman import ActiveLearner, make_world
    >>> world = make_world("brown-two-state")
    >>> learner = ActiveLearner(world.problem, inference="enumerate")
    >>> query = learner.ask()
    >>> answer = learner.tell(query, 0)
    >>> learner
    ActiveLearner(acquisition='failure_chance', inference='enumerate': 1 answer, 0 questions waiting)
    >>> learner.certificate().status
    'fails'
    """

    def __init__(
        self,
        problem: Problem,
        *,
        acquisition: str | None = None,
        acquisition_options: Mapping[str, Any] | None = None,
        inference: str = "smc",
        inference_options: Mapping[str, Any] | None = None,
        epsilon: float | str = 0.1,
        delta: float = 0.1,
        confidence: float = 0.95,
        scope: str = "initial",
        kind: str = "state",
        length: int | None = None,
        goal: str = "policy",
        goal_options: Mapping[str, Any] | None = None,
        apprentice: str = "expected_return",
        num_histories: int = 64,
        max_samples: int = MAX_SAMPLES,
        confirmation_factor: int = CONFIRMATION_FACTOR,
        costs: ArrayLike | None = None,
        step_cost: float = 0.0,
        seed: int = 0,
        num_threads: int | None = None,
        max_seconds: float | None = None,
        is_checked: bool = True,
        progress: bool | None = None,
        candidates: Any = None,
    ) -> None:
        settings = LearnerSettings.for_problem(
            problem,
            acquisition=acquisition or "",
            acquisition_options=acquisition_options or {},
            inference=inference,
            inference_options=inference_options or {},
            epsilon=epsilon,
            delta=delta,
            confidence=confidence,
            scope=scope,
            kind=kind,
            length=length,
            goal=goal,
            goal_options=goal_options or {},
            apprentice=apprentice,
            num_histories=num_histories,
            max_samples=max_samples,
            confirmation_factor=confirmation_factor,
            costs=costs,
            step_cost=step_cost,
            seed=seed,
            candidates=candidates,
        )
        self._begin(problem, settings, num_threads, max_seconds, is_checked, progress)

    def _begin(
        self,
        problem: Problem,
        settings: LearnerSettings,
        num_threads: int | None,
        max_seconds: float | None,
        is_checked: bool,
        progress: bool | None,
    ) -> None:
        settings.check_problem(problem)
        resolve_num_threads(num_threads)
        self.problem, self.num_threads = problem, num_threads
        self.max_seconds, self.is_checked, self.progress = checked_seconds(max_seconds), is_checked, progress
        self._state = State(problem, settings, Ledger(problem))
        self._cache: dict[str, tuple[int, Any]] = {}

    @classmethod
    def from_settings(
        cls,
        problem: Problem,
        settings: LearnerSettings,
        *,
        num_threads: int | None = None,
        max_seconds: float | None = None,
        is_checked: bool = True,
        progress: bool | None = None,
    ) -> "ActiveLearner":
        """Return a new learner with given settings."""
        learner = cls.__new__(cls)
        learner._begin(problem, settings, num_threads, max_seconds, is_checked, progress)
        return learner

    @property
    def settings(self) -> LearnerSettings:
        """How it asks, infers and stops."""
        return self._state.settings

    def __repr__(self) -> str:
        names = f"acquisition={self.settings.acquisition!r}, inference={self.settings.inference!r}"
        waiting = f"{counted(len(self.pending), 'question')} waiting"
        return f"ActiveLearner({names}: {counted(len(self.answers), 'answer')}, {waiting})"

    def _repr_html_(self) -> str:
        return html_of(self)

    # Asking and being told

    def ask(self) -> Query:
        """Return the query to put to the expert next.

        Queries that still wait are taken into account: what their answers will tell is not asked for again. A state may
        be asked about more than once, which is right with an expert who makes mistakes.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> query = learner.ask()
        >>> query.id, query.state, query.kind
        (0, 1, 'state')
        """
        return self.ask_batch(1)[0]

    def ask_batch(self, k: int, *, progress: bool | None = None) -> tuple[Query, ...]:
        """Return `k` queries that tell most together, for experts who answer several at once.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> [query.id for query in learner.ask_batch(2)]
        [0, 1]
        >>> len(learner.pending)
        2
        """
        with self._bar("Choosing questions", progress) as report:
            self.apply(self.propose_ask(k, report_fn=report))
        return self.queries[-k:]

    def tell(self, query: Query | int, answer: Answer, *, annotator: str | None = None) -> AnswerId:
        """Take the answer to a query and update the posterior; `history()[-1]` says what that changed.

        Parameters
        ----------
        query
            One that waits, or its id; in any order.
        answer
            A demonstration that starts in the state of the query. For a state query the action will do, by its number
            or its label.
        annotator
            Who answered, unless the demonstration says so.

        Returns
        -------
        The id of the answer, for `undo`: that of its query.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> learner.tell(learner.ask(), 0)
        0
        >>> learner.answers[0].steps
        ((1, 0),)
        """
        event = self.propose("tell", query, answer, annotator=annotator)
        self._apply_checked(event)
        return int(event.payload["query"])

    def attach(
        self,
        demonstrations: Iterable[Demonstration] | Demonstration,
        *,
        annotator: str | None = None,
        allow_duplicates: bool = False,
    ) -> tuple[AnswerId, ...]:
        """Add data that were never asked for, one demonstration or many; returns an id for each, for `undo`.

        Data that are there already are refused (see `learner.duplicates`), unless `allow_duplicates` says that they
        were really done again.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> from journeyman import Demonstration
        >>> learner.attach([Demonstration.annotation(0, 1), Demonstration.annotation(1, 0)])
        ('attached-0', 'attached-1')
        """
        options = {"annotator": annotator, "allow_duplicates": allow_duplicates}
        self._apply_checked(self.propose("attach", demonstrations, **options))
        return self._state.history[-1].answers

    def fail(self, query: Query | int) -> None:
        """Say that no answer comes to a query now; its state may be asked about again."""
        self.apply(self.propose("fail", query))

    def abandon(self, query: Query | int) -> None:
        """Say that a query cannot be answered; its state is not asked about again."""
        self.apply(self.propose("abandon", query))

    def undo(self, answer: Query | AnswerId) -> None:
        """Take an answer out of the posterior: that of a query (or its id), or attached data (by the id it got).

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> answer = learner.tell(learner.ask(), 0)
        >>> learner.undo(answer)
        >>> len(learner.answers)
        0
        """
        self.apply(self.propose("undo", answer))

    def correct(self, answer: Query | AnswerId, right: Answer, *, annotator: str | None = None) -> None:
        """Put the right answer in the place of one that was given; its question, and who answered, stay the same.

        Parameters
        ----------
        answer
            The query, or its id, or the id of attached data. The answer may have been taken back, or the query may have
            failed or been abandoned: then it is answered after all.
        right
            As in `tell`. For attached data that were one action, the action will do.
        annotator
            Who answered, if that changes too.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> answer = learner.tell(learner.ask(), 0)
        >>> learner.correct(answer, 1)
        >>> learner.answers[answer].steps[0][1]
        1
        """
        self._apply_checked(self.propose("correct", answer, right, annotator=annotator))

    def change_settings(self, **changes: Any) -> None:
        """Change settings that only cost computing, such as `max_samples` or `num_particles`; see `LearnerSettings`.

        If the samples of the posterior depend on it, they are computed again from all answers.
        """
        self._apply_checked(set_event(self.ledger, self.settings, changes))

    # Events

    def propose_ask(self, k: int = 1, *, report_fn: Report | None = None) -> Event:
        """Choose queries and return the event that asks them, without applying it."""
        k = checked_batch(k)
        begin, ledger = time.perf_counter(), self.ledger
        chosen = choose(
            self.posterior(),
            self.settings,
            ledger.num_events,
            k,
            ledger.pending,
            ledger.abandoned_states,
            self._kept("scores", ledger.num_events),
            self.num_threads,
            report_fn,
        )
        return ask_event(ledger, self.settings, chosen, time.perf_counter() - begin)

    def propose(self, name: str, *arguments: Any, **options: Any) -> Event:
        """Check what a method would do ("tell", "attach", "fail", "abandon", "undo", "correct"), and return its event.

        Nothing is applied and no inference is done, so that a durable form of the learner can store the event first.
        """
        return PROPOSALS[name](self.ledger, *arguments, **options)

    def apply(self, event: Event) -> None:
        """Apply the next event, whoever made it."""
        self._apply(event, is_checked=False)

    def apply_together(self, events: Sequence[Event]) -> None:
        """Apply the next events with one update of the belief, where many came at once; see `advance_together`."""
        with self._bar("Updating the belief"), logged("learner", "applied together", count=len(events)):
            self._state = advance_together(self._state, events, self.num_threads)

    def _apply_checked(self, event: Event) -> None:
        self._apply(event, is_checked=True)

    def _apply(self, event: Event, is_checked: bool) -> None:
        said = logged("learner", "applied", name=event.name, number=event.number)
        with self._bar("Updating the belief"), said:
            self._state = advance(self._state, event, self.num_threads, is_checked=is_checked)
        if self.pending:
            self.prepare()

    def prepare(self) -> None:
        """Begin in the background what the next answer will need; done by itself while queries wait for one.

        Nothing but time depends on it. With `num_threads=1` nothing is done beside the caller.
        """
        prepare_belief(self.settings, self._state.belief, self.num_threads)

    # What is known

    def posterior(self) -> Posterior:
        """Return the belief about the reward after all answers so far; computed if need be.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> answer = learner.tell(learner.ask(), 0)
        >>> learner.posterior()
        Posterior('enumerate': 4 samples of 4 parameters, 1 demonstrated action)
        """
        with self._bar("Updating the belief"):
            self._state = compute_belief(self._state, self.num_threads)
        assert self._state.belief is not None
        return self._state.belief.posterior

    def scores(self) -> Scores:
        """Return the scores of all states, as the next `ask` sees them where no query waits.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> learner.scores().best_state()
        1
        """
        now, abandoned = self.ledger.num_events, self.ledger.abandoned_states
        return self._computed(
            "scores", now, lambda: rate(self.posterior(), self.settings, now, abandoned, self.num_threads)
        )

    def apprentice(self) -> IntArray:
        """Return the policy `[S]` that we hand out, chosen on all samples; it cannot be written to.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> learner.apprentice().shape
        (2,)
        """
        choose_fn = APPRENTICES[self.settings.apprentice].policy_fn
        number, epsilon = self._state.last_change, self.settings.epsilon
        return self._computed("apprentice", number, lambda: read_only(choose_fn(self.posterior(), epsilon)))

    def certificate(self, *, progress: bool | None = None) -> Certificate:
        """Return what may be said about `apprentice()`, on samples drawn until that is decided, or for long enough.

        Each state of knowledge has its own samples, the same whenever it is asked for. Ctrl-C ends it, and leaves the
        learner as it was.

        Examples
        --------
        >>> from journeyman import Demonstration
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> learner.certificate().status
        'fails'
        >>> for state, action in ((1, 0), (0, 1)):
        ...     _ = learner.attach(Demonstration.annotation(state, action))
        >>> learner.certificate().status
        'holds'
        """
        return self.certifying("certificate")(progress)

    def confirmation(self, *, progress: bool | None = None) -> Certificate:
        """Return what a fresh, longer posterior says about `apprentice()`; takes the time of inference from scratch."""
        return self.certifying("confirmation")(progress)

    def certifying(self, name: str, *, is_quick: bool = False) -> Callable[[bool | None], Certificate]:
        """Return a function that computes the "certificate" or "confirmation" of what is known now.

        It takes whether to show progress. The learner may be told more before and while it computes: nothing waits.
        With `is_quick` rivals of the model that need inference are left out, also where the certificate holds.
        """
        policy, belief, number = self.apprentice(), self._state.belief, self._state.last_change
        certify_fn = {"certificate": certificate_of, "confirmation": confirmation_of}[name]
        assert belief is not None  # the apprentice comes from it
        answers, limits = tuple(self.ledger.answers.values()), (self.num_threads, self.max_seconds)
        arguments, criticise_fn = (belief, self.settings, policy, answers, *limits), self.criticising()

        def compute(progress: bool | None) -> Certificate:
            def check(_: Posterior, is_full: bool) -> Criticism | None:
                wanted = None if is_full and not is_quick else False
                return criticise_fn(wanted, progress) if self.is_checked else None

            kept = f"quick {name}" if is_quick else name
            return self._computed(kept, number, lambda: certify_fn(*arguments, progress, check), progress)

        return compute

    def criticism(self, *, is_full: bool | None = None) -> Criticism:
        """Return what speaks against the model of the expert: surprise over time, contradictions, what deviates most.

        Parameters
        ----------
        is_full
            Whether to try rivals that need inference of their own, which takes the time of some inferences: other
            betas, other priors, a change of mind. Default: if there are at most 400 parameters, and not too many
            answers for them (`is_quick_to_check`).
        """
        return self.criticising()(is_full)

    def criticising(self) -> Callable[..., Criticism]:
        """Return a function that criticises the model by what is known now.

        It takes whether to do so in full (None: if that is quick), and whether to show progress.
        """
        posterior, number = self.posterior(), self._state.last_change
        answers, num_threads = tuple(self.ledger.answers.values()), self.num_threads
        seed = self.settings.stream_seed(CRITICISM, number + 1)

        def compute(is_full: bool | None, progress: bool | None = None) -> Criticism:
            if is_full is None:
                is_full = is_quick_to_check(posterior)
            return self._computed(
                "criticism" if is_full else "quick criticism",
                number,
                lambda: criticise(
                    posterior, answers, is_full=is_full, seed=seed, num_threads=num_threads, progress=progress
                ),
                progress,
            )

        return compute

    def knowledge(self) -> RewardKnowledge:
        """Return how well the reward itself is known, for goal "reward"."""
        return self._computed(
            "knowledge",
            self._state.last_change,
            lambda: knowledge_of(self.posterior(), self.settings, self.num_threads),
        )

    def is_finished(self) -> bool:
        """Return whether the goal is reached.

        Goal "policy": the certificate holds, and is confirmed on a fresh, longer posterior, once for every state of
        knowledge that calls for it. Goal "reward": intervals are narrow enough, or answers tell hardly anything more.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> learner.is_finished()
        False
        """
        with self._bar("Looking whether the goal is reached"):
            return is_goal_reached(self)

    def forecast(self, *, num_runs: int = 20, limit: int = 100, progress: bool | None = None) -> Forecast:
        """Return how many more answers it may take until the certificate holds, by simulating the rest of the learning.

        Each run is a copy of this learner that asks an expert whose reward is drawn from the posterior. That takes as
        long as all of these together. It is as optimistic as the model: a real expert who fits it less well takes
        longer, and so does a certificate that is not confirmed the first time.

        Parameters
        ----------
        num_runs
            Courses to simulate.
        limit
            Answers after which a course is given up.
        progress
            Whether to show a bar on the error stream.
        """
        posterior, snapshot, events = self.posterior(), self.snapshot(), self.events

        def copy(seed: int) -> ActiveLearner:
            settings = replace(self.settings, seed=seed, max_samples=min(self.settings.max_samples, FORECAST_SAMPLES))
            options: dict[str, Any] = {"num_threads": self.num_threads, "is_checked": False, "progress": False}
            learner = ActiveLearner.from_settings(self.problem, settings, **options)
            learner._state = resumed(self.problem, settings, events, snapshot)
            return learner

        rng = self.settings.rng(FORECAST, self.ledger.num_events)
        return forecast_answers(copy, posterior, rng, num_runs=num_runs, limit=limit, progress=progress)

    def history(self) -> tuple[StepRecord, ...]:
        """Return one record for the belief before any answer, and one for each that came in or was taken back.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> answer = learner.tell(learner.ask(), 0)
        >>> [record.name for record in learner.history()]
        ['start', 'tell']
        """
        if not self._state.history:
            self._state = compute_belief(self._state, self.num_threads)
        return self._state.history

    def computed(self) -> dict[str, Any]:
        """Return what was computed already of what is known now, by name, such as "certificate"; computes nothing.

        Names are those of the methods: posterior, scores, apprentice, certificate, confirmation, history and others.

        Examples
        --------
        >>> from journeyman import ActiveLearner, make_world
        >>> world = make_world("brown-two-state")
        >>> learner = ActiveLearner(world.problem, inference="enumerate")
        >>> learner.computed()
        {}
        >>> answer = learner.tell(learner.ask(), 0)
        >>> sorted(learner.computed())
        ['history', 'posterior']
        """
        known = (self._state.last_change, self.ledger.num_events)
        found = {name: value for name, (number, value) in self._cache.items() if number == known[name == "scores"]}
        if self._state.belief is not None:
            found["posterior"] = self._state.belief.posterior
        return found | ({"history": self._state.history} if self._state.history else {})

    @property
    def events(self) -> tuple[Event, ...]:
        """All that happened, in order."""
        return self._state.events

    @property
    def ledger(self) -> Ledger:
        """Queries, their status and the answers, as they follow from the events."""
        return self._state.ledger

    @property
    def last_change(self) -> int:
        """Number of the last event that changed the posterior, -1 before any."""
        return self._state.last_change

    # Storing and restoring

    def copy(self) -> "ActiveLearner":
        """Return a learner that knows the same and has computed the same; what one is told later the other is not."""
        copied = copy.copy(self)  # a state is never changed, only replaced
        copied._cache = dict(self._cache)
        return copied

    def snapshot(self) -> dict[str, Any]:
        """Return arrays by name, and plain data under "state", from which `restore` continues without replay."""
        return snapshot_of(self._state)

    @classmethod
    def restore(
        cls,
        problem: Problem,
        settings: LearnerSettings,
        events: Iterable[Event],
        snapshot: Mapping[str, Any] | None = None,
        *,
        num_threads: int | None = None,
        max_seconds: float | None = None,
        is_checked: bool = True,
    ) -> "ActiveLearner":
        """Return the learner that these events made; `settings` are those it had before any of them.

        Its next queries are those of a learner that never stopped. Nothing is scored again; answers that came after the
        snapshot (all of them without one) update the posterior again. Methods other than SMC compute the last posterior
        only; the entropy and regret of replayed steps are then missing in `history`.
        """
        limits: dict[str, Any] = {"num_threads": num_threads, "max_seconds": max_seconds}
        learner = cls.from_settings(problem, settings, **limits, is_checked=is_checked)
        learner._state = replay(problem, settings, events, snapshot, num_threads)
        return learner

    def _kept(self, name: str, number: int) -> Any:
        kept = self._cache.get(name)
        return kept[1] if kept is not None and kept[0] == number else None

    def _bar(self, title: str, progress: bool | None = None) -> AbstractContextManager[Report]:
        return progress_bar(title, is_shown=self.progress if progress is None else progress)

    def _computed(self, name: str, number: int, compute_fn: Callable[[], T], progress: bool | None = None) -> T:
        """Return what was computed at this event number, or compute it now."""
        value: T | None = self._kept(name, number)
        if value is None:
            with self._bar(f"Computing the {name}", progress), logged("learner", "computed", what=name, number=number):
                value = compute_fn()
            self._cache[name] = (number, value)
        return value
