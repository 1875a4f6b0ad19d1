"""What goes in and out of the studio, for the OpenAPI schema and for checking what comes in."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from journeyman.apprentice.epsilon import checked_epsilon


def _plain(text: str) -> str:
    """Refuse text that no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("must be text that UTF-8 can hold") from None
    if "\x00" in text:
        raise ValueError("must not hold the character NUL")
    return text


def _named(text: str) -> str:
    """Refuse names that cannot be read."""
    name = _plain(text).strip()
    if not name or not name.isprintable():
        raise ValueError("must be a name that can be printed")
    return name


def _epsilon(text: str) -> str:
    """Refuse what is no epsilon; how it should look is said by `faults`."""
    checked_epsilon(text)  # its errors are also ValueErrors
    return text


Text = Annotated[str, AfterValidator(_plain)]
Name = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_named)]
QuestionId = Annotated[int, Field(strict=True, ge=0, le=2**53)]  # strict: true is no 1
Action = Annotated[
    Annotated[int, Field(strict=True, ge=0, le=2**53)] | Annotated[str, Field(max_length=200), AfterValidator(_plain)],
    Field(description="Number or label."),
]
AnswerId = Annotated[int, Field(strict=True, ge=0, le=2**53)] | Annotated[str, Field(pattern=r"^attached-[0-9]{1,9}$")]
Chance = float | None
STUDY_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


class Given(BaseModel):
    """What comes in: no keys that nobody knows."""

    model_config = ConfigDict(extra="forbid")


class NewWorld(Given):
    """A world of the package, with its truth drawn by a seed."""

    name: Annotated[str, Field(max_length=64), AfterValidator(_plain)]
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31)] = 0


class NewProblem(Given):
    """A problem of one's own: a map, a table of edges, or a problem.toml with the tables that it names."""

    kind: Literal["map", "graph", "toml"]
    text: Annotated[str, Field(min_length=1, max_length=2_000_000), AfterValidator(_plain)]
    tables: Annotated[dict[Text, Text], Field(max_length=20)] = {}


class NewStudy(Given):
    """A study to make: from a world or from a problem."""

    name: Annotated[str, Field(pattern=STUDY_NAME)]
    world: NewWorld | None = None
    problem: NewProblem | None = None
    epsilon: (
        Annotated[float, Field(strict=True, gt=0, le=1e9)]
        | Annotated[str, Field(pattern=r"^[0-9.]{1,8}%?$"), AfterValidator(_epsilon)]
    ) = 0.1
    delta: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.1
    answers: Literal["state", "trajectory"] = "state"
    length: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None


class AnswerGiven(Given):
    """The answer to a question: an action, or the steps of a run that was done elsewhere."""

    question: QuestionId
    action: Action | None = None
    steps: (
        Annotated[
            list[
                tuple[
                    Annotated[int, Field(strict=True, ge=0, le=2**31)],
                    Annotated[int, Field(strict=True, ge=0, le=2**31)],
                ]
            ],
            Field(min_length=1, max_length=5000),
        ]
        | None
    ) = None
    final_state: Annotated[int, Field(strict=True, ge=0, le=2**31)] | None = None
    ended: Literal["truncated", "terminated"] | None = None
    comment: Annotated[str, Field(max_length=2000), AfterValidator(_plain)] | None = None


class StepGiven(Given):
    """A step of a run; number: how many steps there are before it."""

    question: QuestionId
    number: Annotated[int, Field(strict=True, ge=0, le=100_000)]
    action: Action


class StepUndone(Given):
    """The last step of a run, which is taken back."""

    question: QuestionId
    number: Annotated[int, Field(strict=True, ge=0, le=100_000)]


class QuestionNamed(Given):
    """A question."""

    question: QuestionId


class CommentGiven(Given):
    """What somebody says about a question; an empty text removes it."""

    question: QuestionId
    text: Annotated[str, Field(max_length=2000), AfterValidator(_plain)]


class AnswerUndone(Given):
    """An answer to take back; by default this person's last one."""

    answer: AnswerId | None = None


class AnswerCorrected(Given):
    """An answer, and what is right instead."""

    answer: AnswerId
    action: Action


# What goes out


class Fault(BaseModel):
    """What is wrong, for programs (code, field, hint: the request that helps) and for people (message)."""

    code: str
    message: str
    field: str | None = None
    hint: str | None = None


class Failure(BaseModel):
    """Every answer that is not a success."""

    error: Fault


class StudyListed(BaseModel):
    """A study in short; counts are None until it is opened."""

    name: str
    is_open: bool
    num_answers: int | None
    num_states: int | None


class WorldListed(BaseModel):
    """A world that a study can be made from."""

    name: str
    summary: str


class StudyList(BaseModel):
    """Studies that can be opened, and what new ones can be made from."""

    studies: list[StudyListed]
    default: str | None
    can_create: bool
    worlds: list[WorldListed]
    limits: dict[str, int]


class StudyMade(BaseModel):
    """The name of a new study."""

    name: str


class ActionListed(BaseModel):
    """An action, the step on the grid that it intends (rows, columns), and its keys."""

    action: int
    label: str
    move: tuple[int, int] | None
    keys: list[str]


class States(BaseModel):
    """States by number: names, words, where they are drawn, and what they are."""

    names: list[str]
    words: list[str]
    places: list[int]
    terminal: list[bool]
    initial: list[float]
    queryable: list[bool]
    kinds: list[str] | None
    remembered: list[str] | None
    pictures: list[bool] | None


class GridDrawn(BaseModel):
    """A grid: row and column of each place, and cells that are walls."""

    rows: int
    columns: int
    cells: list[tuple[int, int]]
    walls: list[tuple[int, int]]
    has_moves: bool


class LinkDrawn(BaseModel):
    """A line between two places."""

    model_config = ConfigDict(populate_by_name=True)
    from_: int = Field(alias="from")
    to: int
    one_way: bool


class GraphDrawn(BaseModel):
    """A graph: x (to the right) and y (upwards) of each place, and lines."""

    places: list[tuple[float, float]]
    names: list[str]
    links: list[LinkDrawn]


class ProblemDrawn(BaseModel):
    """A problem: all that is needed to draw it and to name its parts."""

    num_states: int
    num_actions: int
    discount: float
    drawing: Literal["grid", "graph", "none"]
    states: States
    actions: list[ActionListed]
    grid: GridDrawn | None
    graph: GraphDrawn | None
    outcomes: list[list[list[tuple[int | None, float]]]] | None


class StudyShown(BaseModel):
    """A study, its settings and its problem; explain: what numbers mean that a page shows."""

    name: str
    file: str
    created_at: str
    kind: Literal["state", "trajectory"]
    length: int | None
    goal: str
    epsilon: float | str
    epsilon_words: str
    delta: float
    acquisition: str
    inference: str
    num_answers: int
    num_waiting: int
    annotators: list[str] | None
    intro: str
    explain: dict[str, str]
    problem: ProblemDrawn


class Choice(BaseModel):
    """What can be done here: keys, and where that most likely leads (None: the end)."""

    action: int
    label: str
    keys: list[str]
    leads_to: int | None
    words: str


class StepDone(BaseModel):
    """A step of a run; slipped: it did not lead where it mostly does."""

    number: int
    state: int
    action: int
    next_state: int | None
    intended: int | None
    slipped: bool
    words: str


class Question(BaseModel):
    """A question as somebody is asked it.

    number: as the page counts, the answer that this is or will be, None for one that was taken back or skipped;
    based_on: answers that it was chosen after, None if nobody knows; num_before: other answers about the same place.
    """

    id: int
    number: int | None
    kind: Literal["state", "trajectory"]
    state: int
    length: int | None
    text: str
    place: str
    remembered: str
    why: str
    score: float | None
    unit: str
    based_on: int | None
    num_answers: int
    num_before: int
    is_again: bool
    previous: str | None
    here: int
    steps: list[StepDone]
    is_over: bool
    remaining: int | None
    actions: list[Choice]
    comment: str


class QuestionNow(BaseModel):
    """The question of a person, or why there is none; undoable: this person's last answer."""

    question: Question | None
    state: Literal["ready", "preparing", "finished"]
    message: str
    undoable: int | None


class Kept(BaseModel):
    """An answer that is kept, and the next question; repeated: it was kept before."""

    kept: int
    repeated: bool
    num_answers: int
    next: QuestionNow


class StepKept(BaseModel):
    """A step that is kept; `kept` is the question if that was its last step."""

    step: StepDone
    kept: int | None
    repeated: bool
    num_answers: int
    next: QuestionNow


class Next(BaseModel):
    """What comes next."""

    next: QuestionNow


class Commented(BaseModel):
    """The comment that is kept."""

    comment: str


class Undone(BaseModel):
    """The answer that was taken back, and its question again."""

    undone: int | str
    repeated: bool
    num_answers: int
    next: QuestionNow


class Corrected(BaseModel):
    """The answer that was corrected."""

    corrected: int | str
    repeated: bool
    num_answers: int


class ChoiceListed(BaseModel):
    """An action that can be answered."""

    action: int
    label: str


class HistoryItem(BaseModel):
    """A question with its answer, or data that were attached; number: of the answer among those that count, from 1.

    annotator: who gave the answer, also one that was taken back; changed: "taken back by ben", "corrected by ben".
    """

    id: int | str
    number: int | None
    question: int | None
    state: int | None
    place: str
    kind: Literal["state", "trajectory"]
    status: Literal["counts", "taken_back", "skipped", "cannot", "waiting"]
    answer: str | None
    action: int | None
    steps: list[tuple[int, int]]
    final_state: int | None
    ended: str | None
    annotator: str | None
    changed: str
    time: str | None
    comment: str
    why: str
    can_undo: bool
    can_correct: bool
    choices: list[ChoiceListed]


class History(BaseModel):
    """What was asked and answered, newest first."""

    items: list[HistoryItem]
    total: int
    more: bool


class ScoresShown(BaseModel):
    """What an answer about each place is worth; None where nobody may be asked."""

    values: list[Chance]
    best: int
    unit: str
    label: str
    words: str


class ByAction(BaseModel):
    """Mean and standard deviation for each state and action; None where an action does not exist."""

    mean: list[list[Chance]]
    sd: list[list[Chance]]


class RewardShown(BaseModel):
    """What the learner believes that each place is worth."""

    mean: list[Chance]
    sd: list[Chance]
    by_action: ByAction | None
    words: str


class PolicyShown(BaseModel):
    """What the apprentice does, and the chance that it is optimal; None where there is no choice."""

    actions: list[int | None]
    chances: list[Chance]
    rivals: list[int | None]
    rival_chances: list[Chance]
    words: str


class CoursePoint(BaseModel):
    """What was believed after so many answers."""

    num_answers: int
    failure_chance: Chance
    expected_regret: Chance
    entropy: Chance


class ModelShown(BaseModel):
    """Whether the model of the expert fits the answers."""

    status: Literal["unknown", "fits", "doubtful"]
    headline: str
    sentences: list[str]
    advice: list[str]


class ExpertShown(BaseModel):
    """What is known about a parameter of the expert."""

    name: str
    mean: Chance
    sd: Chance
    interval: list[Chance]


class Belief(BaseModel):
    """What is known now; based_on: answers behind it."""

    revision: int
    is_ready: bool
    based_on: int
    num_answers: int
    scores: ScoresShown | None
    reward: RewardShown | None
    policy: PolicyShown | None
    course: list[CoursePoint]
    failure_chance: Chance
    expected_regret: Chance
    epsilon: float | str
    epsilon_words: str
    delta: float
    sure: Chance
    wanted: float
    progress_words: str
    model: ModelShown
    warnings: list[str]
    expert: list[ExpertShown]
    explain: dict[str, str]


class CertificateShown(BaseModel):
    """What the certificate says; after: answers that it is about, is_current: whether that is all."""

    status: Literal["unknown", "not_yet", "fails", "undecided", "refused", "holds", "doubtful"]
    is_enough: bool
    is_confirmed: bool
    after: int | None
    is_current: bool
    headline: str
    claim: str
    sentences: list[str]
    reasons: list[str]
    advice: list[str]
    assumptions: list[str]
    p_hat: Chance
    upper_bound: Chance
    epsilon: float | str
    epsilon_words: str
    delta: float


class WorkerShown(BaseModel):
    """What the process that computes does; behind: answers that it has not taken in yet."""

    state: Literal["starting", "thinking", "choosing", "certifying", "idle", "restarting", "failed"]
    words: str
    behind: int


class Person(BaseModel):
    """Somebody who answers; name None: who did not say."""

    name: str | None
    num_answers: int
    is_here: bool


class Status(BaseModel):
    """How things stand, in short."""

    study: str
    num_answers: int
    belief_revision: int
    certificate_revision: int
    worker: WorkerShown
    annotators: list[Person]


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer besides success."""
    return {status: {"model": Failure} for status in (401, 403, 404, 422, 429, *statuses)}
