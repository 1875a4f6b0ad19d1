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
QuestionId = Annotated[
    int, Field(strict=True, ge=0, le=2**53, description="The `id` of the question.")
]  # strict: true is no 1
Action = Annotated[
    Annotated[int, Field(strict=True, ge=0, le=2**53)] | Annotated[str, Field(max_length=200), AfterValidator(_plain)],
    Field(description="Number or label of the action."),
]
AnswerId = Annotated[int, Field(strict=True, ge=0, le=2**53)] | Annotated[str, Field(pattern=r"^attached-[0-9]{1,9}$")]
StepNumber = Annotated[
    int,
    Field(strict=True, ge=0, le=100_000, description="Number of the step in its run: how many there are before it."),
]
Chance = float | None
STUDY_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


class Given(BaseModel):
    """What comes in: no keys that nobody knows."""

    model_config = ConfigDict(extra="forbid")


class NewWorld(Given):
    """A world of the package, with its truth drawn by a seed."""

    name: Annotated[
        str, Field(max_length=64, description="One of `worlds` of `GET /api/studies`."), AfterValidator(_plain)
    ]
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31, description="Seed of what is random in it.")] = 0


class NewProblem(Given):
    """A problem of one's own: a map, a table of edges, or a problem.toml with the tables that it names."""

    kind: Annotated[
        Literal["map", "graph", "toml"],
        Field(description="What `text` is: a map, a table of edges, or a problem.toml."),
    ]
    text: Annotated[
        str,
        Field(min_length=1, max_length=2_000_000, description="The content of that file."),
        AfterValidator(_plain),
    ]
    tables: Annotated[
        dict[Text, Text],
        Field(max_length=20, description="The content of each table that a problem.toml names, by its file name."),
    ] = {}


class NewStudy(Given):
    """A study to make: from a world or from a problem."""

    name: Annotated[
        str,
        Field(
            pattern=STUDY_NAME,
            description="Name of the study: up to 64 letters, digits, `_`, `.` and `-`, the first a letter or a digit.",
        ),
    ]
    world: Annotated[NewWorld | None, Field(description="A world of the package; send this or `problem`.")] = None
    problem: Annotated[NewProblem | None, Field(description="A problem of your own; send this or `world`.")] = None
    epsilon: Annotated[
        Annotated[float, Field(strict=True, gt=0, le=1e9)]
        | Annotated[str, Field(pattern=r"^[0-9.]{1,8}%?$"), AfterValidator(_epsilon)],
        Field(description="Regret that is too much; a text such as `5%` means a share of what is at stake."),
    ] = 0.1
    delta: Annotated[float, Field(strict=True, gt=0, lt=1, description="Acceptable chance of that regret.")] = 0.1
    answers: Annotated[
        Literal["state", "trajectory"], Field(description="Whether an answer is one action or a run of several steps.")
    ] = "state"
    length: Annotated[
        Annotated[int, Field(strict=True, ge=1, le=1000)] | None,
        Field(description="Most steps of a run; only with `trajectory`. By default that of the world, else 20."),
    ] = None


class AnswerGiven(Given):
    """The answer to a question: an action, or the steps of a run that was done elsewhere."""

    question: QuestionId
    action: Annotated[
        Action | None, Field(description="Number or label of what the expert does; send this or `steps`.")
    ] = None
    steps: Annotated[
        Annotated[
            list[
                tuple[
                    Annotated[int, Field(strict=True, ge=0, le=2**31)],
                    Annotated[int, Field(strict=True, ge=0, le=2**31)],
                ]
            ],
            Field(min_length=1, max_length=5000),
        ]
        | None,
        Field(description="A run that was done elsewhere: (state, action) of each step."),
    ] = None
    final_state: Annotated[
        Annotated[int, Field(strict=True, ge=0, le=2**31)] | None,
        Field(description="The state that the last step of the run led to, if there is one."),
    ] = None
    ended: Annotated[
        Literal["truncated", "terminated"] | None,
        Field(description="Whether the run was cut off, which is the default, or reached its end."),
    ] = None
    comment: Annotated[
        Annotated[str, Field(max_length=2000), AfterValidator(_plain)] | None,
        Field(description="What the person says about it, as in `POST /comment`."),
    ] = None


class StepGiven(Given):
    """A step of a run; number: how many steps there are before it."""

    question: QuestionId
    number: StepNumber
    action: Action


class StepUndone(Given):
    """The last step of a run, which is taken back."""

    question: QuestionId
    number: StepNumber


class QuestionNamed(Given):
    """A question."""

    question: QuestionId


class CommentGiven(Given):
    """What somebody says about a question; an empty text removes it."""

    question: QuestionId
    text: Annotated[
        str, Field(max_length=2000, description="The comment; an empty one removes it."), AfterValidator(_plain)
    ]


class AnswerUndone(Given):
    """An answer to take back; by default this person's last one."""

    answer: Annotated[
        AnswerId | None, Field(description="The answer to take back; by default this person's last one.")
    ] = None


class AnswerCorrected(Given):
    """An answer, and what is right instead."""

    answer: Annotated[AnswerId, Field(description="The answer: the `id` of its question, or of attached data.")]
    action: Action


# What goes out


class Fault(BaseModel):
    """What is wrong: `code`, `field` and `hint`, the request that helps, are for programs, `message` is for people."""

    code: str
    message: str
    field: str | None = None
    hint: str | None = None


class Failure(BaseModel):
    """Every reply that is not a success."""

    error: Fault


class StudyListed(BaseModel):
    """A study in short; `num_states` is null until it is opened, `num_answers` if it cannot be counted."""

    name: str
    is_open: bool
    num_answers: int | None
    num_states: int | None


class WorldListed(BaseModel):
    """A world that a study can be made from."""

    name: str
    summary: str


class StudyList(BaseModel):
    """Studies that can be opened, and what new ones can be made from; `limits`: how large a problem may be."""

    studies: list[StudyListed]
    default: str | None
    can_create: bool
    worlds: list[WorldListed]
    limits: dict[str, int]


class StudyMade(BaseModel):
    """The name of a new study."""

    name: str


class ActionListed(BaseModel):
    """An action; `move`: the step on the grid that it intends (rows, columns); `keys`: as browsers name them."""

    action: int
    label: str
    move: tuple[int, int] | None
    keys: list[str]


class States(BaseModel):
    """Lists by the number of the state: names, words, the place where each is drawn, and what it is.

    `terminal`: whether runs end there; `initial`: chance to start there; `queryable`: whether it may be asked about;
    `kinds`: of cells of a grid; `remembered`: what it stands for besides its place; `pictures`: whether it has one.
    """

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
    """A grid; `cells`: row and column of each place; `walls`: row and column of each wall."""

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
    """A graph; `places`: x (to the right) and y (upwards) of each; `links`: lines between them."""

    places: list[tuple[float, float]]
    names: list[str]
    links: list[LinkDrawn]


class ProblemDrawn(BaseModel):
    """A problem: all that is needed to draw it and to name its parts.

    `outcomes`: for each state and action, where it leads (null: to the end) and the chance of that, the likeliest
    first; null for large problems.
    """

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
    """A study, its settings and its problem; `intro`: for whoever answers; `explain`: what the numbers mean."""

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
    """What can be done at `here`; `leads_to`: where that most likely leads, null: to the end of the run."""

    action: int
    label: str
    keys: list[str]
    leads_to: int | None
    words: str


class StepDone(BaseModel):
    """A step of a run; `intended`: where it mostly leads; `slipped`: it led elsewhere. A null state: the run ended."""

    number: int
    state: int
    action: int
    next_state: int | None
    intended: int | None
    slipped: bool
    words: str


class Question(BaseModel):
    """A question as somebody is asked it: `text` asks, `actions` are the choices, `why` says why it was chosen.

    `state`: where it begins; `here`: where its run is after `steps`, of which it may have `remaining` more; `number`:
    as the page counts, the answer that this is or will be, null for one that was taken back or skipped; `score`: what
    an answer was expected to tell, in `unit`; `based_on`: answers that it was chosen after, null if nobody knows;
    `num_before`: other answers about the same place; `is_again`: it was answered, skipped or given up before;
    `previous`: the last answer it had, in words; `comment`: what this person said about it.
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
    """The question of a person, or null and a `message` why; `undoable`: the last answer of this person."""

    question: Question | None
    state: Literal["ready", "preparing", "finished"]
    message: str
    undoable: int | None


class Kept(BaseModel):
    """The question whose answer is kept, and what comes next; `repeated`: it was kept before."""

    kept: int
    repeated: bool
    num_answers: int
    next: QuestionNow


class StepKept(BaseModel):
    """A step that is kept, and what comes next; `kept`: the question if that was its last step, else null."""

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
    """A question with its answer, or data that were attached.

    `number`: of the answer among those that count, from 1; `annotator`: who gave the answer, also one that was taken
    back; `changed`: "taken back by ben", "corrected by ben"; `choices`: what it can be corrected to.
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
    """What was asked and answered, newest first; `total`: how many there are; `more`: whether older ones follow."""

    items: list[HistoryItem]
    total: int
    more: bool


class ScoresShown(BaseModel):
    """What an answer about each state is worth, null where nobody may be asked; `best`: the state worth most."""

    values: list[Chance]
    best: int
    unit: str
    label: str
    words: str


class ByAction(BaseModel):
    """Mean and standard deviation for each state and action; null where an action does not exist."""

    mean: list[list[Chance]]
    sd: list[list[Chance]]


class RewardShown(BaseModel):
    """What the learner believes that each state is worth: mean and standard deviation."""

    mean: list[Chance]
    sd: list[Chance]
    by_action: ByAction | None
    words: str


class PolicyShown(BaseModel):
    """What the apprentice does in each state, and the chance that it is optimal; null where there is no choice.

    `rivals`: the action that is most likely optimal among the others, and its chance.
    """

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
    """What is known now; what follows from answers is null or empty until `is_ready`.

    `based_on`: how many of the `num_answers` are taken in; `failure_chance`: that following the apprentice loses
    `epsilon` or more; `sure`: one minus that, which should reach `wanted`; `course`: what was known after each answer;
    `explain`: what the numbers mean, in words.
    """

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
    """What the certificate says: `headline` and `claim` in words; `is_enough`: no more answers are needed.

    `is_confirmed`: a second look found the same; `after`: how many answers it is about; `is_current`: whether these are
    all; `p_hat`: estimated chance of losing `epsilon` or more; `upper_bound`: of that chance.
    """

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
    """What the process that computes does; `behind`: answers that it has not taken in yet."""

    state: Literal["starting", "thinking", "choosing", "certifying", "idle", "restarting", "failed"]
    words: str
    behind: int


class Person(BaseModel):
    """Somebody who answers; `name` null: who did not say; `is_here`: whether they listen to `/events`."""

    name: str | None
    num_answers: int
    is_here: bool


class Status(BaseModel):
    """How things stand, in short; a new `belief_revision` or `certificate_revision` is worth fetching."""

    study: str
    num_answers: int
    belief_revision: int
    certificate_revision: int
    worker: WorkerShown
    annotators: list[Person]


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer besides success."""
    return {status: {"model": Failure} for status in (401, 403, 404, 422, 429, *statuses)}
