"""`journeyman study interview`: an expert at a terminal answers one question after the other, with one key each.

An answer is stored before anything is computed, so that nothing is lost whenever the person leaves. The questions are
those of `study ask` and `study tell` in turns: each is chosen after the last answer. While the person looks at one, the
sampler works ahead in the background, and so does the certificate once the learner is sure enough.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from journeyman.cli import options as opt
from journeyman.cli.study.options import StudyFile, app
from journeyman.errors import InputError, JourneymanError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from journeyman.cli.study.desk import Choices, Desk
    from journeyman.demonstrations import Demonstration
    from journeyman.learner import Query
    from journeyman.study import Study
    from journeyman.threads import Ahead

BACK_AFTER = 3  # answers after which a question that was skipped comes back
PATIENCE = 10.0  # seconds that a certificate may draw, on the clock
MIN_PICTURE = 9  # lines that are worth leaving out gaps for
BAR = 20  # characters of the bar that shows how sure the learner is
HELP = """\
You see one situation at a time. Press the key of what you would do there: the
keys are drawn where they lead, and listed below the question. Your answer is
kept at once, and the next question comes.

  u   undo: take the last answer back, and answer that question again; in the
      middle of a run, take the last step back
  s   skip: this question comes back later
  x   cannot say: nobody will be asked about this place again
  e   end a run here, where several steps are asked for
  :   type the name of an action instead of pressing a key
  q   quit; the same command brings you back to the open question
  ?   this help

There are no right or wrong answers: do what you think is best. If you are not
sure, do what you would most likely do."""


@opt.add_command(app)
def interview(
    file: StudyFile,
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Who answers.")] = None,
    simulate_moves: Annotated[
        bool,
        typer.Option("--simulate-moves", help="In runs of several steps, draw where chance leads instead of asking."),
    ] = False,
    lines: Annotated[
        bool, typer.Option("--lines", help="Print, and read one line per answer, as is done without a terminal.")
    ] = False,
    threads: opt.Threads = None,
) -> None:
    """Let an expert answer at the terminal: a picture, a question, one key per answer, and the next question at once.

    Every answer is kept when its key is pressed; leave with q, and the same command resumes where you were, with open
    questions first. u takes back the last answer, s skips, x says that a question cannot be answered, ? helps. The line
    at the bottom says how sure the learner is; once the certificate holds it says so, and you may stop or continue.

    Without a terminal, every line of the input is an answer: a key or the name of an action, or a command (undo, skip,
    cannot, end, quit).

    Examples: [bold]journeyman study interview my.study[/]; [bold]journeyman study interview my.study --by ada[/];
    answers from a file: [bold]journeyman study interview my.study < answers.txt[/].
    """
    from rich.console import Console
    from rich.text import Text

    from journeyman.cli.study.desk import LineDesk, TerminalDesk
    from journeyman.cli.warmup import compile_at_first_use
    from journeyman.progress import progress_bar
    from journeyman.study import Study
    from journeyman.threads import one_thread

    console = Console(highlight=False)
    is_terminal = sys.stdin.isatty() and console.is_terminal and not console.is_dumb_terminal and not lines
    session = None
    # Threads of linear algebra wait for each other, which is slow on a busy machine; what is solved here is small.
    with (
        one_thread(),
        progress_bar("Interview", is_shown=False),
        Study.open(file, num_threads=threads, max_seconds=PATIENCE) as study,
    ):
        with TerminalDesk(console) if is_terminal else LineDesk(console) as desk, suppress(KeyboardInterrupt):
            if is_terminal:
                desk.show(lambda width, height: [Text("One moment: the first question is being chosen.")])
            compile_at_first_use()
            session = Interview(study, desk, by, simulates_moves=simulate_moves)
            session.run()
        if session is not None:
            session.say_goodbye(console)


@dataclass(frozen=True)
class Verdict:
    """What a certificate said after some answers: whether one may stop, and that in words."""

    is_enough: bool
    words: str


class Watch:
    """Looks in the background whether the goal is reached, one look at a time; `verdict` is the last one."""

    def __init__(self, study: "Study", found_fn: Callable[[], None]) -> None:
        self.study, self.found_fn = study, found_fn
        self.verdict: Verdict | None = None
        self._ahead: Ahead[Verdict] | None = None
        self._num_seen = -1

    def look(self, chance: float | None) -> None:
        """Begin to look, if that is worth it: the chance of failure is low enough, and no other look is under way."""
        from journeyman.threads import Ahead, resolve_num_threads

        settings, count = self.study.settings, len(self.study.answers)
        is_likely = settings.goal == "reward" or (chance is not None and chance <= settings.delta)
        if self._ahead is not None:
            if not self._ahead.is_ready:
                return
            with suppress(JourneymanError):  # `study certify` says what is wrong; a bug is raised here
                self._ahead.value(1)
            self._ahead = None
        if is_likely and count != self._num_seen:
            self._num_seen = count
            self._ahead = Ahead(self._looking(count))
            self._ahead.begin(resolve_num_threads(self.study.num_threads))

    def _looking(self, count: int) -> Callable[[int], Verdict]:
        """Return a function that says what is true after `count` answers, whatever is told meanwhile."""
        from journeyman.learner.stopping import knowledge_of
        from journeyman.wording import counted

        learner, settings = self.study.learner(), self.study.settings
        posterior, is_reward = learner.posterior(), settings.goal == "reward"
        certify_fn, confirm_fn = (learner.certifying(name) for name in ("certificate", "confirmation"))
        held = "the reward is known well enough" if is_reward else "the certificate HOLDS: the learner is good enough"
        after = f"After {counted(count, 'answer')}"

        def decide() -> str:
            if is_reward:
                return "holds" if knowledge_of(posterior, settings, learner.num_threads).is_enough else "fails"
            first = certify_fn(False)
            return confirm_fn(False).status if first.holds_if_model_is_right else first.status

        def look(_: int) -> Verdict:
            status = decide()
            if status == "holds":
                verdict = Verdict(True, f"{after} {held}. You may stop (q), or continue.")
            elif status == "doubtful":
                verdict = Verdict(
                    True,
                    f"{after} {held}, if the model of you is right, which is doubtful. You may stop (q), or continue.",
                )
            else:
                verdict = Verdict(False, f"{after} it is not certain yet.")
            if verdict.is_enough or self.verdict is None or not self.verdict.is_enough:
                self.verdict = verdict
                self.found_fn()
            return verdict

        return look


class Interview:
    """One person's session with a study."""

    def __init__(self, study: "Study", desk: "Desk", by: str | None, *, simulates_moves: bool = False) -> None:
        self.study, self.desk, self.by, self.simulates_moves = study, desk, by, simulates_moves
        if by is not None:
            study.problem.expert_space.group_of(by)
        self.watch = Watch(study, desk.again)
        self.notice = ""
        self.num_given = 0  # answers in this session
        self.earlier: list[int] = []  # questions that had their turn in this session, in order
        self.revisited: list[Query] = []  # questions whose answer was taken back, the next one last
        self.skipped: dict[int, int] = {}  # by question: the number of answers after which it comes back
        self.chance: float | None = None

    def run(self) -> None:
        """Ask until the person leaves."""
        if self.by is None and self.study.problem.expert_space.annotators:
            self.by = self._who()
            if self.by is None:
                return
        while (query := self._next_query()) is not None:
            answer = TrajectoryAsked(self, query).answer() if query.kind == "trajectory" else self._one_action(query)
            if isinstance(answer, str):
                if answer == "quit":
                    return
                self._obey(answer, query)
            else:
                self._keep(query, answer)

    def say_goodbye(self, console: "Console") -> None:
        """Say what was kept, and how to go on."""
        from journeyman.wording import counted

        total, name = len(self.study.answers), self.study.path
        if self.notice and not self.notice.startswith("Kept"):
            console.print(self.notice, soft_wrap=True, markup=False)
        console.print(f"Kept {counted(self.num_given, 'answer')}; the study has {total} now.", soft_wrap=True)
        if self.watch.verdict is not None and self.watch.verdict.is_enough:
            console.print(f"{self.watch.verdict.words.split('. ')[0]}.", soft_wrap=True)
        console.print(f"To continue: journeyman study interview {name}", soft_wrap=True, markup=False)
        console.print(f"How good it is: journeyman study certify {name}", soft_wrap=True, markup=False)

    # Questions

    def _next_query(self) -> "Query | None":
        """Return what to ask now: what was taken back, what is open, or something new."""
        if self.revisited:
            return self.revisited[-1]
        waiting = [
            query for query in self.study.pending if self.skipped.get(query.id, self.num_given) <= self.num_given
        ]
        if not waiting:
            try:
                waiting = [self.study.ask()]
            except InputError as error:  # no place is left to ask about
                self.notice = str(error)
                return None
            self.chance = self.study.history()[-1].failure_chance
        elif self.chance is None and self.study.answers:
            self.chance = self.study.history()[-1].failure_chance
        self.watch.look(self.chance)
        return waiting[0]

    def _one_action(self, query: "Query") -> "Demonstration | str":
        """Return the answer to a question about one action, or a command."""
        from journeyman.demonstrations import Demonstration

        chosen = self.choose_action(query, query.state, ())
        return chosen if isinstance(chosen, str) else Demonstration.annotation(query.state, chosen)

    def choose_action(self, query: "Query", state: int, trail: tuple[int, ...]) -> int | str:
        """Show a place, and return the action that is chosen there, or a command."""
        from journeyman.cli.study.desk import Choices
        from journeyman.report.drawing.situations import Situation, place_words

        mdp = self.study.problem.mdp
        choices = Choices.of_actions(mdp, state, has_arrows=self.desk.has_arrows)
        situation = Situation(mdp, state, choices.shown, trail)
        where = place_words(mdp, state)
        question = f"You are at {where}. What would you do?"
        if query.kind == "trajectory":
            question = f"You are at {where}. Step {len(trail) + 1} of at most {query.length}: what do you do?"
        drawn = Screen(self, query, question, choices, situation)
        return self.choose(drawn, choices, mdp.action_names.index)

    def choose(self, screen: "Screen", choices: "Choices", names_fn: Callable[[str], int]) -> int | str:
        """Show a screen until something on it is chosen; return which option, or a command."""
        from journeyman.cli.study.desk import understood

        while True:
            self.desk.show(screen.lines)
            text = self.desk.read()
            self.notice = ""
            if text is None:
                return "quit"
            try:
                chosen = understood(text, choices, names_fn)
                if chosen == "name":
                    chosen = understood(self.desk.read_name("Name: "), choices, names_fn)
            except InputError as error:
                is_key = len(text) == 1 or not text.isprintable()
                self.notice = "That key means nothing here; ? explains the keys." if is_key else str(error)
                continue
            if chosen == "help":
                self._help()
            elif not isinstance(chosen, str) or chosen in ("quit", "undo", "skip", "cannot", "end"):
                return chosen

    def _help(self) -> None:
        from rich.text import Text

        shown = [*HELP.split("\n"), *(["", "Press any key to continue."] if self.desk.has_keys else [])]
        self.desk.show(lambda width, height: [Text(line) for line in shown])
        if self.desk.has_keys:
            self.desk.read()

    def _who(self) -> str | None:
        """Ask who is there, where annotators have parameters of their own."""
        from rich.text import Text

        from journeyman.cli.study.desk import Choices

        names = list(self.study.problem.expert_space.annotators)
        choices = Choices.of_words(names)

        def lines(width: int, height: int) -> list[Text]:
            listed = [Text(f"  {choices.shown[i]}  {name}") for i, name in enumerate(names)]
            return [Text("Who are you?", style="bold"), Text(""), *listed, Text(""), Text(self.notice)]

        while True:
            self.desk.show(lines)
            text = self.desk.read()
            if text is None or text in ("q", "quit"):
                return None
            index = choices.keys.get(text, choices.names.get(text))
            if index is not None:
                return names[index]
            self.notice = f"The answers must be by one of {', '.join(names)}."

    # Answers

    def _keep(self, query: "Query", answer: "Demonstration") -> None:
        """Store an answer, at once; then only is anything computed."""
        mdp = self.study.problem.mdp
        try:
            if self.study.status_of(query) == "waiting":
                self.study.tell(query, answer, annotator=self.by)
            else:
                self.study.correct(query, answer, annotator=self.by)
        except InputError as error:  # somebody else was quicker
            self.notice = str(error)
        else:
            words = ", ".join(mdp.action_name(action) for _, action in answer.steps)
            self.notice = f"Kept: {words}."
            self.num_given += 1
            self.earlier.append(query.id)
        self._is_done(query)

    def _obey(self, command: str, query: "Query") -> None:
        """Do what a command says about a question."""
        status = self.study.status_of(query)
        if command == "undo":
            self._undo()
        elif command == "skip":
            if status == "waiting":
                self.skipped[query.id] = self.num_given + BACK_AFTER
                self.notice = "Skipped: it comes back later."
            self._is_done(query)
        elif command == "cannot":
            self.study.abandon(query)
            self.notice = "This place is not asked about again."
            self.earlier.append(query.id)
            self._is_done(query)
        else:
            is_run = query.kind == "trajectory"
            self.notice = "Do at least one step first." if is_run else "There is only one step to do here."

    def _is_done(self, query: "Query") -> None:
        if self.revisited and self.revisited[-1].id == query.id:
            self.revisited.pop()

    def _undo(self) -> None:
        """Take the last answer back, of this session or an earlier one of the same person, and ask it again."""
        answers = self.study.answers
        given = [
            key for key, answer in answers.items() if isinstance(key, int) and (answer.annotator or None) == self.by
        ]
        if self.earlier:
            last = self.earlier.pop()
        elif given:
            last = given[-1]
        else:
            self.notice = "There is no answer to take back."
            return
        if last in answers:
            self.study.undo(last)
            self.chance = None  # it was that of the answers with this one
            self.num_given = max(0, self.num_given - 1)
        self.revisited.append(self.study.queries[last])
        self.notice = f"Taken back: the answer to question {last}. Answer it again, or skip it (s)."


class TrajectoryAsked:
    """A question for several steps: the person goes from place to place."""

    def __init__(self, session: Interview, query: "Query") -> None:
        import numpy as np

        self.session, self.query, self.mdp = session, query, session.study.problem.mdp
        self.rng = np.random.default_rng([session.study.settings.seed, query.id])  # of simulated moves
        self.steps: list[tuple[int, int]] = []
        self.state: int | None = query.state

    def answer(self) -> "Demonstration | str":
        """Return the run, or a command; a run that is not finished is not kept."""
        from journeyman.demonstrations import Demonstration

        assert self.query.length is not None
        while self.state is not None and not self.mdp.terminal[self.state] and len(self.steps) < self.query.length:
            chosen = self.session.choose_action(self.query, self.state, tuple(state for state, _ in self.steps))
            if chosen == "undo" and self.steps:
                self.state = self.steps.pop()[0]
            elif chosen == "end" and self.steps:
                break
            elif isinstance(chosen, str):
                return chosen
            else:
                following = self._following(self.state, chosen)
                if isinstance(following, str):
                    if following == "undo":
                        continue
                    return following
                self.steps.append((self.state, chosen))
                self.state = following[0]
        is_over = self.state is None or bool(self.mdp.terminal[self.state])
        ended = "terminated" if is_over else "truncated"
        return Demonstration(self.query.state, tuple(self.steps), self.state, ended)

    def _following(self, state: int, action: int) -> tuple[int | None] | str:
        """Return where an action leads: what it always does, what the person saw, or a draw; or a command."""
        from journeyman.cli.study.desk import Choices
        from journeyman.report.drawing.situations import Situation, outcomes, place_words
        from journeyman.wording import percent

        found = outcomes(self.mdp, state, action)
        if len(found) == 1:
            return (found[0][0],)
        if self.session.simulates_moves:
            drawn = int(self.rng.choice(len(found), p=[chance for _, chance in found]))
            return (found[drawn][0],)
        words = [
            ("it was over" if outcome is None else place_words(self.mdp, outcome), chance) for outcome, chance in found
        ]
        choices = Choices.of_words([word for word, _ in words])
        listed = [f"{word} ({percent(chance)})" for word, chance in words]
        question = f"You chose {self.mdp.action_name(action)}. Where did it lead?"
        screen = Screen(self.session, self.query, question, choices, Situation(self.mdp, state, {}), tuple(listed))

        def unknown(text: str) -> int:
            index = self.mdp.state_names.index(text)
            return next((i for i, (outcome, _) in enumerate(found) if outcome == index), -1)

        chosen = self.session.choose(screen, choices, unknown)
        return chosen if isinstance(chosen, str) else (found[chosen][0],)


class Screen:
    """What is shown with one question."""

    def __init__(
        self,
        session: Interview,
        query: "Query",
        question: str,
        choices: "Choices",
        situation: Any,
        options: tuple[str, ...] | None = None,
    ) -> None:
        self.session, self.query, self.question = session, query, question
        self.choices, self.situation, self.options = choices, situation, options

    def lines(self, width: int, height: int) -> list["Text"]:
        """Return the lines of the screen: title, picture, question, keys, how far it is."""
        from rich.text import Text

        from journeyman.report.drawing.situations import FAINT, draw_situation

        session, console = self.session, self.session.desk.console
        who = f"   by {session.by}" if session.by else ""
        title: Text | None = Text(f"Question {self.query.id}   {session.study.path.name}{who}", style=FAINT)
        question = list(Text(self.question, style="bold").wrap(console, width))
        keys, commands, progress = self._keys(width), self._commands(width), self._progress(width)
        gap = [Text("")]
        parts = [gap, question, gap, keys, gap, commands, gap, progress]
        num_below = sum(len(part) for part in parts)
        if height < num_below + MIN_PICTURE + 2:  # every line counts: without gaps, without what `?` says as well
            parts, title = [question, keys, progress], None
            num_below = sum(len(part) for part in parts)
        room = height - num_below - (0 if title is None else 2)
        picture = draw_situation(console, self.situation, width, room)[:room] if room >= 3 else []
        head = [] if title is None else [title, Text("")]
        return [*head, *picture, *(line for part in parts for line in part)]

    def _keys(self, width: int) -> list["Text"]:
        from rich.text import Text

        from journeyman.report.drawing.situations import KEY, Pen, destination_words, flowed

        pen, mdp, state = Pen.of(self.session.desk.console), self.situation.mdp, self.situation.state
        entries = []
        for option, shown in self.choices.shown.items():
            keys = [key for key, meant in self.choices.keys.items() if meant == option and key.isascii()]
            text = pen.chip(" ".join(dict.fromkeys([shown, *keys])), KEY)
            if self.options is not None:
                entries.append(Text.assemble(text, f" {self.options[option]}"))
                continue
            label = mdp.action_name(option) if mdp.action_labels else "" if shown == str(option) else f"action {option}"
            leads = "" if mdp.grid is not None and mdp.grid.moves is not None else destination_words(mdp, state, option)
            arrow = pen.text(" → ", " -> ") if label and leads and label != leads else " "
            parts = label + (arrow + leads if leads and leads != label else "")
            entries.append(Text.assemble(text, f" {parts}"))
        return flowed(entries, width)

    def _commands(self, width: int) -> list["Text"]:
        from journeyman.report.drawing.situations import FAINT, flowed

        words = {"u": "undo", "s": "skip", "x": "cannot say", "e": "end the run here", "?": "help", "q": "quit"}
        if self.query.kind != "trajectory":
            del words["e"]
        lines = flowed([_plain(f"{key} {word}") for key, word in words.items()], width)
        for line in lines:
            line.stylize(FAINT)
        return lines

    def _progress(self, width: int) -> list["Text"]:
        from rich.text import Text

        from journeyman.apprentice.epsilon import epsilon_words
        from journeyman.report.drawing.situations import FAINT, Pen
        from journeyman.wording import counted, percent

        session, settings = self.session, self.session.study.settings
        pen, count = Pen.of(session.desk.console), len(session.study.answers)
        line = Text()
        if session.chance is not None and settings.goal == "policy":
            sure, goal = 1.0 - session.chance, 1.0 - settings.delta
            filled, mark = round(BAR * sure), round(BAR * goal)
            bar = "".join(
                pen.text("┃", "|") if i == mark else pen.text("━", "=") if i < filled else pen.text("─", ".")
                for i in range(BAR)
            )
            line.append(bar[:filled], style="green").append(bar[filled:], style=FAINT)
            line.append(f"  {counted(count, 'answer')}   {percent(sure)} sure of losing less than ")
            line.append(f"{epsilon_words(settings.epsilon)}, wanted {percent(goal)}")
        else:
            line.append(counted(count, "answer"))
        lines = list(line.wrap(session.desk.console, width))
        verdict = session.watch.verdict
        if verdict is not None and verdict.is_enough:
            lines += Text(verdict.words, style="bold green").wrap(session.desk.console, width)
        if session.notice:
            lines += _plain(session.notice).wrap(session.desk.console, width)
        return lines


def _plain(words: str) -> "Text":
    from rich.text import Text

    return Text(words)
