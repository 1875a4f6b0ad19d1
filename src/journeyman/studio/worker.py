"""The process that computes for one study: belief, questions ahead, what is known, certificate, reports.

It never writes the study: events come in through a pipe, what it finds goes out. Its loop first takes in what was
answered, then chooses questions, then says what is known; certificates and reports are computed beside that, in a
thread of their own. It may be killed at any time.
"""

import json
import os
import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from journeyman.apprentice import Certificate
from journeyman.apprentice.certificate_text import caution_sentences, claim_sentence, headline, number_sentences
from journeyman.apprentice.epsilon import epsilon_record, epsilon_words
from journeyman.compiling import has_kept
from journeyman.errors import InputError, JourneymanError
from journeyman.inference.kernels import dense_gradient
from journeyman.learner import ActiveLearner, Event
from journeyman.learner.asking import choose
from journeyman.learner.records import BELIEF_EVENTS
from journeyman.learner.stopping import knowledge_of
from journeyman.report.posterior.knowledge import action_certainty, expert_knowledge
from journeyman.report.scores import without_rounding
from journeyman.report.world.summary import without_nonfinite
from journeyman.studio.doubts import UNITS, model_record
from journeyman.study import Study, store
from journeyman.threads import Ahead
from journeyman.wording import counted, percent

NICE = 5
FAR_BEHIND = 3  # answers from which on they are taken in together
MANY = 20  # the same for those that a study has when it is opened, and no snapshot has seen
MOST_AHEAD, MOST_AWAITED = 6, 8  # questions chosen together, and waiting ones that are looked at for that
SNAPSHOT_EVERY = 5  # answers
CERTIFICATE_SECONDS = 10.0  # that a certificate may draw, on the clock
MAX_MAPPED = 20_000  # states; larger problems get no maps


@dataclass(frozen=True)
class Prepared:
    """Questions prepared ahead, as plain data.

    states, gains, lengths: chosen together, best first; unit and warnings of the scores; values `[S]` of all states,
    None where nobody may be asked, and all_lengths, for when the chosen ones are used up; based_on: answers behind it.
    """

    states: tuple[int, ...]
    gains: tuple[float, ...]
    lengths: tuple[int | None, ...]
    unit: str
    warnings: tuple[str, ...]
    values: tuple[float | None, ...]
    all_lengths: tuple[int, ...] | None
    based_on: int
    seconds: float


def run(connection: Connection, path: str, num_threads: int) -> None:
    """Be the worker of a study until its server says stop or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
    with suppress(OSError, AttributeError):  # not everywhere
        os.nice(NICE)
    Worker(connection, Path(path), num_threads).work()


class Worker:
    """A learner that follows the events of a study."""

    def __init__(self, connection: Connection, path: Path, num_threads: int) -> None:
        self.connection, self.path, self.num_threads = connection, path, num_threads
        self.name = path.stem
        self.inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.sending = threading.Lock()
        self.events: list[Event] = []  # that came in and are not applied yet
        self.num_people = 1
        self.jobs: list[tuple[int, str]] = []
        self.job: threading.Thread | None = None
        self.learner: ActiveLearner
        self.looked_at = self.told = self.chosen_at = -2  # numbers of events
        self.look: Ahead[None] | None = None
        self.num_unkept = 0
        self.is_stopped = False

    # Talking to the server

    def say(self, name: str, *content: Any) -> None:
        """Send a message."""
        with self.sending:
            self.connection.send((name, *content))

    def _listen(self) -> None:
        """Take in messages as they come, so that the server never waits for us; its end is ours."""
        while True:
            try:
                self.inbox.put(self.connection.recv())
            except (EOFError, OSError):
                os._exit(0)

    def _take_in(self, *, is_waiting: bool) -> None:
        """Read the messages that came; wait for one if there is nothing else to do."""
        while True:
            try:
                name, *content = self.inbox.get(timeout=0.25 if is_waiting else 0.0)
            except queue.Empty:
                return
            if name == "events":
                self.events.extend(Event.from_record(record) for record in content[0])
            elif name == "people":
                self.num_people = content[0]
            elif name == "job":
                self.jobs.append((content[0], content[1]))
            elif name == "stop":
                self.is_stopped = True
            is_waiting = False

    # Working

    def work(self) -> None:
        """Follow the study until told to stop."""
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            first = "" if has_kept(dense_gradient) else " The first time it is compiled, which may take a minute."
            self.say("status", "starting", f"The learner is starting.{first}")
            self.learner, self.num_unkept = opened_learner(self.path, self.num_threads)
            self.say("ready", self.learner.ledger.num_events)
            while not self.is_stopped:
                self._step()
            self._keep_snapshot()
            self.say("stopped")
            os._exit(0)  # nobody waits for what threads still do
        except (BrokenPipeError, ConnectionResetError):
            os._exit(0)
        except JourneymanError as error:
            self.say("failed", str(error))
        except MemoryError:
            self.say("failed", "there is too little memory for this problem. Fewer particles need less of it.")

    def _step(self) -> None:
        """Do what is most urgent."""
        if self._follow():
            return
        if self.chosen_at != self.learner.ledger.num_events:
            self._choose()
            return  # there may be more answers by now, which matter more than what comes next
        if self.told != self.learner.last_change:
            self._tell()
            return
        self._begin_job()
        self._look()
        if self.num_unkept >= SNAPSHOT_EVERY:
            self._keep_snapshot()
        self.say("status", *(("certifying", "Looking whether the certificate holds.") if self.look else ("idle", "")))
        self._take_in(is_waiting=True)

    def _follow(self) -> bool:
        """Apply events that came in; return whether there were any."""
        self._take_in(is_waiting=False)
        following = self.learner.ledger.num_events
        self.events = [event for event in self.events if event.number >= following]
        if not self.events:
            return False
        changes = sum(event.name in BELIEF_EVENTS for event in self.events)
        if changes:
            self.say("status", "thinking", f"Taking in {counted(changes, 'answer')}.")
        events, self.events = self.events, []
        if changes >= FAR_BEHIND:
            self.learner.apply_together(events)
        else:
            for event in events:
                self.learner.apply(event)
        self.num_unkept += changes
        return True

    def _choose(self) -> None:
        """Choose questions ahead."""
        learner, ledger = self.learner, self.learner.ledger
        self.chosen_at = number = ledger.num_events
        self.say("status", "choosing", "Choosing the next questions.")
        begin = time.perf_counter()
        k = min(max(2, self.num_people + 1), MOST_AHEAD)
        try:
            scores = learner.scores()
            chosen = choose(
                learner.posterior(),
                learner.settings,
                number,
                k,
                ledger.pending[-MOST_AWAITED:],
                ledger.abandoned_states,
                scores,
                self.num_threads,
            )
        except InputError as error:  # no place is left
            self.say("questions", None, str(error))
            return
        lengths = chosen.lengths or (learner.settings.length,) * len(chosen.states)
        found = Prepared(
            chosen.states, chosen.gains, tuple(lengths), scores.unit, chosen.warnings,
            tuple(without_nonfinite(scores.values.tolist())),
            None if scores.lengths is None else tuple(scores.lengths.tolist()),
            len(ledger.answers), time.perf_counter() - begin,
        )  # fmt: skip
        self.say("questions", asdict(found), "")

    def _tell(self) -> None:
        """Say what is known now."""
        self.told = self.learner.last_change
        self.say("belief", len(self.learner.ledger.answers), json.dumps(belief_record(self.learner)).encode())

    def _keep_snapshot(self) -> None:
        if self.num_unkept:
            snapshot = self.learner.snapshot()
            arrays = {name: value for name, value in snapshot.items() if isinstance(value, np.ndarray)}
            facts = {name: value for name, value in snapshot.items() if name not in arrays}
            self.say("snapshot", len(self.learner.events), store.to_json(facts), store.arrays_to_bytes(arrays))
            self.num_unkept = 0

    # Beside that

    def _look(self) -> None:
        """Look in a thread whether the goal is reached, if that is likely; one look at a time."""
        if self.look is not None:
            if not self.look.is_ready:
                return
            done, self.look = self.look, None
            try:
                done.value(1)
            except JourneymanError as error:
                self.say("certificate", self.looked_at, _refused(self.learner, error), {})
        number, settings = self.learner.last_change, self.learner.settings
        chance = self.learner.history()[-1].failure_chance
        if number == self.looked_at:
            return
        self.looked_at = number
        if settings.goal == "policy" and (chance is None or chance > settings.delta):
            words = _not_yet(self.learner, chance)
            self.say("certificate", number, words, {})
            return
        self.look = Ahead(self._looking(number))
        self.look.begin(self.num_threads)

    def _looking(self, number: int) -> Callable[[int], None]:
        """Return a function that says what the certificate says now, whatever is told meanwhile."""
        learner, settings = self.learner, self.learner.settings
        after, posterior = len(learner.ledger.answers), learner.posterior()
        certify_fn, confirm_fn = (learner.certifying(name) for name in ("certificate", "confirmation"))

        def look(_: int) -> None:
            first = certify_fn(False)
            verdicts, shown, is_confirmed = {}, first, False
            if first.holds_if_model_is_right:
                verdicts["certificate"] = first.status
                self.say("certificate", number, certificate_record(first, after, False), verdicts)
                shown = confirm_fn(False)
                is_confirmed = shown.holds_if_model_is_right
                if is_confirmed:
                    verdicts["confirmation"] = shown.status
            record = certificate_record(shown, after, is_confirmed)
            if settings.goal == "reward":
                known = knowledge_of(posterior, settings, self.num_threads)
                words = (
                    "The reward is known well enough."
                    if known.is_enough
                    else "The reward is not known well enough yet."
                )
                record |= {"is_enough": known.is_enough, "headline": words}
            self.say("certificate", number, record, verdicts)

        return look

    def _begin_job(self) -> None:
        """Begin to make a file that somebody wants, in a thread and from a copy of the learner; one at a time."""
        if not self.jobs or (self.job is not None and self.job.is_alive()):
            return
        number, name = self.jobs.pop(0)
        copied = self.learner.copy()

        def work() -> None:
            try:
                self.say("done", number, made_file(copied, self.name, name), "")
            except JourneymanError as error:
                self.say("done", number, None, str(error))
            except Exception as error:
                self.say("done", number, None, f"this file could not be made: {type(error).__name__}.")
                raise

        self.job = threading.Thread(target=work, name="studio-job", daemon=True)
        self.job.start()


def opened_learner(path: Path, num_threads: int) -> tuple[ActiveLearner, int]:
    """Return the learner of a study, from its newest snapshot and with what was answered since, and how much that is.

    Some answers are taken in one after the other, as ever; very many together, since somebody waits.
    """
    with Study.open(path, read_only=True) as study:
        events, snapshots = study.events, study.look(store.read_snapshots)
        settings = study.look(store.read_settings)  # before any event
    limits: dict[str, Any] = {"num_threads": num_threads, "max_seconds": CERTIFICATE_SECONDS}
    learner = ActiveLearner.from_settings(study.problem, settings, **limits, progress=False)
    for number, snapshot in snapshots:
        with suppress(InputError):  # of another version: the next one, or all events
            learner = ActiveLearner.restore(study.problem, settings, events[:number], snapshot, **limits)
            learner.progress = False
            break
    missing = events[len(learner.events) :]
    num_changes = sum(event.name in BELIEF_EVENTS for event in missing)
    if num_changes > MANY:
        learner.apply_together(missing)
    else:
        for event in missing:
            learner.apply(event)
    return learner, num_changes


def belief_record(learner: ActiveLearner) -> dict[str, Any]:
    """Return what a learner knows, as plain data for the page."""
    posterior, policy, settings = learner.posterior(), learner.apprentice(), learner.settings
    mdp, course = learner.problem.mdp, learner.history()
    warnings, scores, last = list(posterior.warnings), None, course[-1]
    is_mapped = mdp.num_states <= MAX_MAPPED
    try:
        found = learner.scores()
        warnings += found.warnings
        values = np.where(np.isfinite(found.values), without_rounding(found), np.nan)  # in the unit of questions
        if is_mapped and np.isfinite(values).any():
            best = int(np.nanargmax(values))
            scores = {
                "values": values.tolist(), "best": best, "unit": found.unit,
                "label": f"score in {found.unit}" if found.unit else "score",
                "words": "How much one answer about each place would help now, as the learner sees it.",
            }  # fmt: skip
    except InputError as error:
        warnings.append(str(error))
    sure = None if last.failure_chance is None else 1.0 - last.failure_chance
    wanted = 1.0 - settings.delta
    words = epsilon_words(settings.epsilon)
    record = {
        "is_ready": True,
        "based_on": len(learner.ledger.answers),
        "scores": scores,
        "reward": reward_record(learner) if is_mapped else None,
        "policy": policy_record(learner, policy) if is_mapped else None,
        "course": [
            {
                "num_answers": step.num_demonstrations, "failure_chance": step.failure_chance,
                "expected_regret": step.expected_regret, "entropy": step.entropy,
            }
            for step in course
        ],
        "failure_chance": last.failure_chance,
        "expected_regret": last.expected_regret,
        "epsilon": epsilon_record(settings.epsilon),
        "epsilon_words": words,
        "delta": settings.delta,
        "sure": sure,
        "wanted": wanted,
        "progress_words": ""
        if sure is None
        else f"{percent(sure)} sure of losing less than {words}, wanted {percent(wanted)}",
        "model": model_record(learner.criticism(is_full=False), mdp),
        "warnings": list(dict.fromkeys(_sentences(warnings))),
        "expert": [
            {"name": one.name, "mean": one.mean, "sd": one.std, "interval": list(one.interval)}
            for one in expert_knowledge(posterior)
        ],
        "explain": explanations(learner),
    }  # fmt: skip
    plain: dict[str, Any] = without_nonfinite(record)
    return plain


def reward_record(learner: ActiveLearner) -> dict[str, Any]:
    """Return mean and standard deviation of the reward of each state, and of each action where it depends on that."""
    posterior = learner.posterior()
    rewards, available = posterior.rewards, learner.problem.mdp.available
    by_action = None
    if rewards.ndim == 3:
        mean = posterior.mean(rewards)
        sd = np.sqrt(posterior.mean((rewards - mean) ** 2))
        hidden = [np.where(available, values, np.nan).tolist() for values in (mean, sd)]
        by_action = dict(zip(("mean", "sd"), hidden, strict=True))
        shares = available / np.maximum(available.sum(axis=1, keepdims=True), 1)
        rewards = (rewards * shares).sum(axis=2)
    mean = posterior.mean(rewards)
    return {
        "mean": mean.tolist(),
        "sd": np.sqrt(posterior.mean((rewards - mean) ** 2)).tolist(),
        "by_action": by_action,
        "words": "What the learner believes that being in each place is worth, and how unsure it is of that.",
    }


def policy_record(learner: ActiveLearner, policy: Any) -> dict[str, Any]:
    """Return the apprentice's action in each state, and how likely it is optimal; None where there is no choice."""
    mdp = learner.problem.mdp
    found = action_certainty(learner.posterior(), policy)
    actions: list[Any] = [None if mdp.terminal[s] else int(policy[s]) for s in range(mdp.num_states)]
    empty: list[Any] = [None] * mdp.num_states
    chances, rivals, rival_chances = empty.copy(), empty.copy(), empty.copy()
    for i, state in enumerate(found.states.tolist()):
        chances[state], rivals[state] = float(found.chances[i]), int(found.rivals[i])
        rival_chances[state] = float(found.rival_chances[i])
    return {
        "actions": actions, "chances": chances, "rivals": rivals, "rival_chances": rival_chances,
        "words": "What the apprentice would do, and the chance that this is the best that can be done there.",
    }  # fmt: skip


def explanations(learner: ActiveLearner) -> dict[str, str]:
    """Return what each number of the page means, in words."""
    settings = learner.settings
    epsilon, delta = epsilon_words(settings.epsilon), percent(settings.delta)
    unit = learner.scores().unit if has_scores(learner) else ""
    return {
        "scores": "How much one answer about this place would tell the learner; higher is more. Questions are chosen "
        f"by this.{UNITS.get(unit, '')}",
        "reward": "The learner's best guess of what being there is worth to you. It was never told: it follows from "
        "what you do. After ± stands how far off the guess may well be (its standard deviation).",
        "uncertainty": "The standard deviation of that guess: how far off it may well be.",
        "policy": "What the apprentice would do there now. The percentage is the chance that no other action is "
        "better, given the answers.",
        "chance": f"The chance that following the apprentice loses {epsilon} or more, compared with the best that can "
        f"be done, as the learner sees it. Once it is at most {delta}, a certificate is tried, which looks more "
        "carefully.",
        "sure": f"One minus the chance of losing {epsilon} or more by following the apprentice, as the learner sees "
        f"it. Once it is at least {percent(1.0 - settings.delta)}, a certificate is tried, which looks more carefully.",
        "goal": f"What was wanted when the study was made: to lose less than {epsilon} (epsilon), with a chance of at "
        f"least {percent(1.0 - settings.delta)} (one minus delta).",
        "chart": "Along the bottom: how many answers there were. Upwards: the chance, after so many of them, that "
        f"following the apprentice loses {epsilon} or more. The dashed line is the {delta} that it has to come below.",
        "regret": "What following the apprentice is expected to lose, compared with the best that can be done.",
        "model": "Whether the answers look like those of somebody who mostly does what is best for them, as the "
        "learner assumes. Numbers say how much better other explanations fit, and how often something was answered.",
        "expert": "What the answers tell about how they are given: the best guess, and the range that it lies in with "
        "a chance of 95 %.",
        "warnings": "Something that makes the numbers on this page less sure, as the learner reports it.",
        "based_on": "Answers that are taken in already. The rest are kept, and follow in a moment.",
        "certificate": f"A statement that the apprentice loses less than {epsilon}, with a chance of at least "
        f"{percent(1.0 - settings.delta)}, and what that rests on.",
    }


def has_scores(learner: ActiveLearner) -> bool:
    """Whether any place can be asked about."""
    try:
        learner.scores()
    except InputError:
        return False
    return True


def certificate_record(certificate: Certificate, after: int, is_confirmed: bool) -> dict[str, Any]:
    """Return a certificate in words and numbers for the page."""
    record = {
        "status": certificate.status,
        "is_enough": is_confirmed,
        "is_confirmed": is_confirmed,
        "after": after,
        "headline": headline(certificate),
        "claim": " ".join([claim_sentence(certificate), *caution_sentences(certificate)]),
        "sentences": number_sentences(certificate),
        "reasons": _sentences(certificate.reasons),
        "advice": _sentences(certificate.advice),
        "assumptions": list(certificate.assumptions),
        "p_hat": certificate.p_hat,
        "upper_bound": certificate.upper_bound,
    }
    plain: dict[str, Any] = without_nonfinite(record)
    return plain


def _not_yet(learner: ActiveLearner, chance: float | None) -> dict[str, Any]:
    settings = learner.settings
    about = (
        ""
        if chance is None
        else f" The chance of losing too much is about {percent(chance)}; {percent(settings.delta)} is wanted."
    )
    return {
        "status": "not_yet", "is_enough": False, "is_confirmed": False, "after": len(learner.ledger.answers),
        "headline": f"There is no certificate yet.{about}", "claim": "", "sentences": [], "reasons": [],
        "advice": [], "assumptions": [], "p_hat": chance, "upper_bound": None,
    }  # fmt: skip


def _refused(learner: ActiveLearner, error: JourneymanError) -> dict[str, Any]:
    """Return that a certificate could not be computed, and why."""
    return _not_yet(learner, None) | {
        "status": "refused",
        "headline": "No certificate: it could not be computed.",
        "reasons": _sentences([error]),
    }


def _sentences(texts: Any) -> list[str]:
    """Return texts as sentences: a capital at the beginning, a full stop at the end."""
    plain = [str(text).strip() for text in texts if str(text).strip()]
    return [f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.!?' else '.'}" for text in plain]


def made_file(learner: ActiveLearner, name: str, wanted: str) -> bytes:
    """Return a file that a study can be taken home as: report, policy, reward, certificate."""
    from journeyman.study.exports import write_export

    kind = wanted.partition(".")[0]
    if wanted == "report.html":
        from journeyman.report.learning import learning_report
        from journeyman.report.learning.summary import summarise_learning

        return learning_report(summarise_learning(learner, name)).encode()
    if wanted == "certificate.txt":
        certificate = learner.certificate()
        shown = learner.confirmation() if certificate.holds_if_model_is_right else certificate
        return f"{shown.text()}\n".encode()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / wanted
        study: Any = learner  # all that an export needs of a study
        write_export(study, kind, place, progress=False)
        return place.read_bytes()


def event_records(events: Any) -> list[Mapping[str, Any]]:
    """Return events as plain data for the pipe."""
    return [event.to_record() for event in events]
