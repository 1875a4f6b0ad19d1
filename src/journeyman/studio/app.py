"""The studio as an application: studies that are open, and the routes to look at them and to answer.

Routes only check what comes in, hand operations to the writer of the session, and describe what came of them; nothing
here computes for long.
"""

import asyncio
import csv
import io
import json
import logging
import secrets
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import aclosing, asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Path as InPath, Query as InQuery, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.routing import APIRouter
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from journeyman.apprentice.epsilon import epsilon_record, epsilon_words
from journeyman.errors import InputError, JourneymanError, StudyError
from journeyman.studio import acting, describing, faults, making, schemas
from journeyman.studio.desks import NOBODY
from journeyman.studio.schemas import failures
from journeyman.studio.security import Guard, error_record
from journeyman.studio.serving import TokenFile
from journeyman.studio.session import Busy, Session, busy_words, check_free
from journeyman.study import Study

log = logging.getLogger("journeyman.studio")
ENDING = ".study"
FILE_SECONDS = 300.0  # that a report may take
ACKNOWLEDGED, ASSIGNED = 8.0, 1.5  # seconds that storing may take before somebody is told that it does
MADE_HERE = ("demonstrations.csv", "demonstrations.json", "comments.csv")
MADE_BY_WORKER = ("report.html", "policy.csv", "policy.json", "reward.csv", "certificate.json", "certificate.txt")
FILES = (*MADE_BY_WORKER, *MADE_HERE)
TYPES = {"html": "text/html", "csv": "text/csv", "json": "application/json", "txt": "text/plain"}
UNREADABLE = "There was an error parsing the body"  # what FastAPI says of JSON that Python does not read
NO_STATIC = "<!doctype html><title>journeyman studio</title><p>The page is not installed; the API is at /api.</p>"


@dataclass(frozen=True)
class Options:
    """How a studio is served.

    token: default a random one; hosts: names besides those of this machine itself by which it may be reached; folder:
    where studies lie and new ones are made, None: only the given study; can_create: whether new ones may be made;
    lists_folder: whether all studies of the folder may be opened; pictures: folder with pictures of states; is_limited:
    whether requests are limited in number; num_threads: of each worker; has_worker: whether anything is computed, else
    only questions that were asked before are put to people.
    """

    token: str | None = None
    hosts: tuple[str, ...] = ()
    folder: Path | None = None
    can_create: bool = True
    lists_folder: bool = False
    pictures: Path | None = None
    is_limited: bool = True
    num_threads: int | None = None
    has_worker: bool = True


class Studio:
    """The studies that are open."""

    def __init__(self, study: Study | None, options: Options) -> None:
        self.options = options
        self.token = options.token or secrets.token_urlsafe(24)
        self.sessions: dict[str, Session] = {}
        self.problems: dict[str, dict[str, Any]] = {}
        self.pictures: dict[str, dict[int, Path]] = {}
        self.default: str | None = None
        self.made: set[str] = set()
        self._keepers: list[TokenFile] = []  # of studies that were opened later: no other studio may serve them
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        if study is not None:
            self.default = study.path.stem
            self._add(study)

    def _add(self, study: Study) -> Session:
        session = Session(study, num_threads=self.options.num_threads, has_worker=self.options.has_worker)
        pictures = describing.found_pictures(self.options.pictures, study.problem.mdp)
        self.pictures[session.name] = pictures
        self.problems[session.name] = describing.problem_record(study.problem, pictures)
        self.sessions[session.name] = session
        if self._loop is not None:
            session.hub.attach(self._loop)
            session.start()
        return session

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the sessions in the loop that serves them."""
        self._loop = loop
        for session in self.sessions.values():
            session.hub.attach(loop)
            session.start()

    def end_streams(self) -> None:
        """End all live streams, so that the server can stop."""
        for session in self.sessions.values():
            session.hub.close()

    def close(self) -> None:
        """Close all studies."""
        for session in self.sessions.values():
            session.close()
        for keeper in self._keepers:
            keeper.close()

    def names(self) -> list[str]:
        """Return the studies that may be opened."""
        found = [*self.sessions, *sorted(self.made)]
        folder = self.options.folder
        if folder is not None and self.options.lists_folder:
            found += sorted(path.stem for path in folder.glob(f"*{ENDING}"))
        return list(dict.fromkeys(found))

    def session(self, name: str) -> Session:
        """Return a study, opened if need be."""
        with self._lock:
            found = self.sessions.get(name)
            if found is not None:
                return found
            if self.options.folder is None or name not in self.names():
                raise acting.Missing(
                    f"there is no study {name!r} here. Choose one of those that are.", "GET /api/studies"
                )
            path = self.options.folder / f"{name}{ENDING}"
            check_free(path)
            keeper = TokenFile(path)
            try:
                added = self._add(Study.open(path))
            except BaseException:
                keeper.close()
                raise
            self._keepers.append(keeper)
            return added

    def num_answers(self, name: str) -> int | None:
        """Return how many answers a study has, without opening it for people; None if that cannot be said."""
        session = self.sessions.get(name)
        if session is not None:
            return len(session.ledger.answers)
        if self.options.folder is None:
            return None
        address = (self.options.folder / f"{name}{ENDING}").resolve().as_uri()
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{address}?mode=ro", uri=True, timeout=0.2)) as file:
            (count,) = file.execute("SELECT count(*) FROM demonstrations WHERE undone_by IS NULL").fetchone()
            return int(count)
        return None

    def make(self, request: dict[str, Any]) -> str:
        """Make a new study, and return its name."""
        folder, name = self.options.folder, request["name"]
        if folder is None or not self.options.can_create:
            raise HTTPException(403, "New studies cannot be made here. Start `journeyman studio` without a file.")
        path = folder / f"{name}{ENDING}"
        try:
            making.make_study(path, request)
        except FileExistsError:
            raise acting.Conflict(f"there is a study {name!r} already. Choose another name.") from None
        self.made.add(name)
        return str(name)


def make_app(study: Study | None, options: Options) -> FastAPI:
    """Return the application."""
    studio = Studio(study, options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        studio.start(asyncio.get_running_loop())
        yield
        await asyncio.to_thread(studio.close)

    app = FastAPI(
        title="journeyman studio",
        summary="Questions of a learner, answered by people or programs.",
        version="1",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.studio = studio
    _add_pages(app)
    app.include_router(_studies(studio))
    app.include_router(_answering(studio))
    app.include_router(_looking(studio))
    _handle_errors(app)
    app.add_middleware(
        Guard,
        token=studio.token,
        hosts=frozenset(host.lower() for host in options.hosts),
        is_limited=options.is_limited,
        upload_paths=frozenset({"/api/studies"}),
    )
    return app


# The page, and errors


class Revalidated(StaticFiles):
    """Static files that browsers ask about each time: what is on the disk is what is shown."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """Return a file, with the order to ask again."""
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = "no-cache"
        return response


def _add_pages(app: FastAPI) -> None:
    static = Path(str(files("journeyman.studio") / "static"))

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        index = static / "index.html"
        if not index.is_file():
            return Response(NO_STATIC, media_type="text/html")
        return FileResponse(index, headers={"cache-control": "no-cache"}, media_type="text/html; charset=utf-8")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> Response:
        found = static / "favicon.ico"
        return FileResponse(found) if found.is_file() else Response(status_code=204)

    app.mount("/static", Revalidated(directory=static, check_dir=False), name="static")


def _failed(
    status: int, message: str, field: str | None = None, headers: Any = None, hint: str | None = None
) -> JSONResponse:
    return JSONResponse(error_record(status, message, field, hint), status, headers=headers)


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        field, words = faults.explained(error.errors())
        return _failed(422, words, field)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        lists = "/api/openapi.json lists what there is."
        words = {404: f"There is nothing at this address. {lists}", 405: f"This address takes no such request. {lists}"}
        if error.detail == UNREADABLE:
            return _failed(400, faults.UNREADABLE)
        is_own = error.detail not in ("Not Found", "Method Not Allowed")
        return _failed(error.status_code, error.detail if is_own else words[error.status_code], headers=error.headers)

    @app.exception_handler(JourneymanError)
    async def explained(_: Request, error: JourneymanError) -> Response:
        if isinstance(error, acting.Refused):
            status = 409 if isinstance(error, acting.Conflict) else 404
            return _failed(status, _sentence(error), hint=error.hint)
        if isinstance(error, Stranger):
            return _failed(400, _sentence(error), "annotator")
        if isinstance(error, InputError):
            return _failed(400, _sentence(error))
        log.log(logging.INFO if isinstance(error, Busy) else logging.ERROR, "%s", error)
        return _failed(503, _sentence(error), headers={"retry-after": "1"})

    @app.exception_handler(Exception)
    async def broken(_: Request, error: Exception) -> Response:
        return _failed(
            500, "Something went wrong here; what was acknowledged is kept. The studio's terminal says more."
        )


def _sentence(error: Exception) -> str:
    """Return what is wrong with a capital at its beginning, unless that is the name of a file."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}" if text.partition(" ")[0].isalpha() else text


# Shared by routes

StudyName = Annotated[str, InPath(min_length=1, max_length=255, description="Name of the study.")]
Annotator = Annotated[schemas.Name | None, InQuery(description="Who answers; leave it out to stay unnamed.")]
TOKEN = Depends(HTTPBearer(auto_error=False, description="The token of the printed address."))


class Stranger(InputError):
    """Somebody whom the study does not know, though it says who answers."""


async def _stored(found: "Future[Any]", name: str, seconds: float) -> Any:
    """Wait until something is stored, for so long; it is done in any case, and may be asked for again."""
    waiting = asyncio.wrap_future(found)
    try:
        return await asyncio.wait_for(asyncio.shield(waiting), seconds)
    except TimeoutError:
        waiting.add_done_callback(lambda done: done.cancelled() or done.exception())
        raise Busy(busy_words(name)) from None


async def _session(studio: Studio, name: str) -> Session:
    found = studio.sessions.get(name)
    return found if found is not None else await asyncio.to_thread(studio.session, name)


async def _person(studio: Studio, name: str, annotator: str | None) -> tuple[Session, str]:
    """Return a study and who is there; refuses names that the study does not know."""
    session = await _session(studio, name)
    person = annotator or NOBODY
    known = session.problem.expert_space.annotators
    if annotator is not None and known and annotator not in known:
        names = "".join(mark if mark.isprintable() else "?" for mark in ", ".join(known))
        raise Stranger(f"this study asks {names}, got {annotator!r}. Answer as one of them.")
    session.note(person)
    return session, person


def question_now(session: Session, person: str) -> dict[str, Any]:
    """Return the question on the desk of a person, or why there is none."""
    query = session.current(person)
    last = acting.last_answer(session.ledger, person)
    record: dict[str, Any] = {"question": None, "state": "preparing", "undoable": last}
    if query is not None:
        shown = describing.question_record(session, query, person)
        return record | {"question": shown, "state": "ready", "message": ""}
    if session.no_place_left:
        return record | {"state": "finished", "message": session.no_place_left}
    if not session.has_worker:
        return record | {"state": "finished", "message": "There are no more questions for now. Thank you!"}
    return record | {"message": "One moment: the next question is being chosen."}


# Studies


def _studies(studio: Studio) -> APIRouter:
    router = APIRouter(prefix="/api", dependencies=[TOKEN], tags=["studies"])

    @router.get("/studies", response_model=schemas.StudyList, responses=failures())
    async def studies() -> Any:
        """List the studies that can be opened, and what new ones can be made from."""
        listed = []
        for name in await asyncio.to_thread(studio.names):
            session = studio.sessions.get(name)
            listed.append(
                {
                    "name": name,
                    "is_open": session is not None,
                    "num_answers": await asyncio.to_thread(studio.num_answers, name),
                    "num_states": None if session is None else session.problem.mdp.num_states,
                }
            )
        worlds = [{"name": name, "summary": words} for name, words in making.world_words().items()]
        limits = {"states": making.MAX_STATES, "edges": making.MAX_EDGES, "bytes": making.MAX_BYTES}
        can_create = studio.options.folder is not None and studio.options.can_create
        found = {"studies": listed, "default": studio.default, "can_create": can_create, "worlds": worlds}
        return JSONResponse(found | {"limits": limits})

    @router.post("/studies", response_model=schemas.StudyMade, status_code=201, responses=failures(400, 409, 413))
    async def make(request: schemas.NewStudy) -> Any:
        """Make a new study from a world or from a problem that is sent; takes some seconds."""
        name = await asyncio.to_thread(studio.make, request.model_dump())
        return JSONResponse({"name": name}, 201)

    @router.get("/studies/{study}", response_model=schemas.StudyShown, responses=failures(503))
    async def show(study: StudyName) -> Any:
        """Show a study: its settings, and its problem with all that is needed to draw it."""
        session = await _session(studio, study)
        settings, ledger = session.settings, session.ledger
        return JSONResponse(
            {
                "name": session.name,
                "file": session.study.path.name,
                "created_at": session.created_at,
                "kind": settings.kind,
                "length": settings.length,
                "goal": settings.goal,
                "epsilon": epsilon_record(settings.epsilon),
                "epsilon_words": epsilon_words(settings.epsilon),
                "delta": settings.delta,
                "acquisition": settings.acquisition,
                "inference": settings.inference,
                "num_answers": len(ledger.answers),
                "num_waiting": len(ledger.pending),
                "annotators": list(session.problem.expert_space.annotators) or None,
                "intro": describing.intro_words(session),
                "explain": describing.explanations(session),
                "problem": studio.problems[session.name],
            }
        )

    @router.get(
        "/studies/{study}/pictures/{state}",
        response_class=Response,
        responses=failures() | {200: {"content": {"image/*": {}}}},
    )
    async def picture(
        study: StudyName, state: Annotated[int, InPath(ge=0, le=2**31, description="Number of the state.")]
    ) -> Any:
        """Return the picture of a state, where there is one."""
        session = await _session(studio, study)
        found = studio.pictures[session.name].get(state)
        if found is None:
            raise acting.Missing(
                f"there is no picture of state {state}. states.pictures of the study says which have one."
            )
        return FileResponse(found, media_type=describing.PICTURES[found.suffix.lower()])

    return router


# Answering


def _answering(studio: Studio) -> APIRouter:
    router = APIRouter(prefix="/api/studies/{study}", dependencies=[TOKEN], tags=["answering"])

    async def act(
        study: str, annotator: str | None, operation_fn: Callable[[Session, str], Any]
    ) -> tuple[Session, str, acting.Done]:
        session, person = await _person(studio, study, annotator)
        return session, person, await _stored(session.do(operation_fn(session, person)), session.name, ACKNOWLEDGED)

    @router.get("/question", response_model=schemas.QuestionNow, responses=failures(400, 503))
    async def question(study: StudyName, annotator: Annotator = None) -> Any:
        """Return the question of a person: the same until it is answered, skipped or given up."""
        session, person = await _person(studio, study, annotator)
        if session.current(person) is None:
            try:
                await _stored(session.ask_for_question(person), session.name, ASSIGNED)
            except Busy as error:
                waiting = {"state": "preparing", "message": _sentence(error)}
                return JSONResponse(question_now(session, person) | waiting)
        return JSONResponse(question_now(session, person))

    @router.get("/question/{number}", response_model=schemas.Question, responses=failures(400, 503))
    async def one_question(
        study: StudyName,
        number: Annotated[int, InPath(ge=0, le=2**53, description="The `id` of the question.")],
        annotator: Annotator = None,
    ) -> Any:
        """Return a question by its number, answered or not."""
        session, person = await _person(studio, study, annotator)
        if number >= len(session.ledger.queries):
            raise acting.Missing(f"there is no question {number}. Answer the one that waits for you.", "GET question")
        return JSONResponse(describing.question_record(session, session.ledger.queries[number], person))

    @router.post("/answer", response_model=schemas.Kept, responses=failures(400, 409, 413, 503))
    async def answer(study: StudyName, given: schemas.AnswerGiven, annotator: Annotator = None) -> Any:
        """Answer a question by an action, or by a run that was done elsewhere; once this returns, it is kept."""
        if (given.action is None) == (given.steps is None):
            got, fix = ("none", "Send one of them") if given.action is None else ("both", "Leave one out")
            raise InputError(f"an answer must be an action or steps, got {got}. {fix}.")

        def operation(session: Session, person: str) -> Any:
            if given.action is not None:
                return acting.answer(session.assign, person, given.question, given.action, given.comment)
            return acting.demonstrate(session.assign, person, given.question, given.model_dump(), given.comment)

        session, person, done = await act(study, annotator, operation)
        return JSONResponse(_kept(session, person, done))

    @router.post("/step", response_model=schemas.StepKept, responses=failures(400, 409, 413, 503))
    async def step(study: StudyName, given: schemas.StepGiven, annotator: Annotator = None) -> Any:
        """Do a step of a run: the world moves on, by chance where it is so; the last step keeps the run."""

        def operation(session: Session, person: str) -> Any:
            seed = session.settings.seed
            return acting.step(session.assign, seed, person, given.question, given.number, given.action)

        session, person, done = await act(study, annotator, operation)
        assert done.step is not None
        walked = describing.step_record(session.problem.mdp, done.number, done.step)
        return JSONResponse(_kept(session, person, done) | {"step": walked})

    @router.post("/step/undo", response_model=schemas.Next, responses=failures(400, 409, 413, 503))
    async def undo_step(study: StudyName, given: schemas.StepUndone, annotator: Annotator = None) -> Any:
        """Take back the last step of a run."""
        session, person, _ = await act(
            study, annotator, lambda _, person: acting.undo_step(person, given.question, given.number)
        )
        return JSONResponse({"next": question_now(session, person)})

    @router.post("/end", response_model=schemas.Kept, responses=failures(400, 409, 413, 503))
    async def end(study: StudyName, given: schemas.QuestionNamed, annotator: Annotator = None) -> Any:
        """End a run where it is, and keep it."""
        session, person, done = await act(
            study, annotator, lambda session, person: acting.end(session.assign, person, given.question)
        )
        return JSONResponse(_kept(session, person, done))

    async def give_up(study: str, annotator: str | None, query: int, *, is_for_good: bool) -> Any:
        def operation(session: Session, person: str) -> Any:
            if not is_for_good and query < len(session.ledger.queries):
                session.remember_skip(person, session.ledger.queries[query])
            return acting.give_up(session.assign, person, query, is_for_good=is_for_good)

        session, person, _ = await act(study, annotator, operation)
        return JSONResponse({"next": question_now(session, person)})

    @router.post("/skip", response_model=schemas.Next, responses=failures(400, 409, 413, 503))
    async def skip(study: StudyName, given: schemas.QuestionNamed, annotator: Annotator = None) -> Any:
        """Skip a question; its place may be asked about again later."""
        return await give_up(study, annotator, given.question, is_for_good=False)

    @router.post("/cannot", response_model=schemas.Next, responses=failures(400, 409, 413, 503))
    async def cannot(study: StudyName, given: schemas.QuestionNamed, annotator: Annotator = None) -> Any:
        """Say that a question cannot be answered; its place is not asked about again."""
        return await give_up(study, annotator, given.question, is_for_good=True)

    @router.post("/comment", response_model=schemas.Commented, responses=failures(400, 409, 413, 503))
    async def comment(study: StudyName, given: schemas.CommentGiven, annotator: Annotator = None) -> Any:
        """Note a comment on a question."""
        text = given.text.strip()
        await act(study, annotator, lambda _, person: acting.comment(person, given.question, text))
        return JSONResponse({"comment": text})

    @router.post("/undo", response_model=schemas.Undone, responses=failures(400, 409, 413, 503))
    async def undo(study: StudyName, given: schemas.AnswerUndone, annotator: Annotator = None) -> Any:
        """Take an answer back; its question is asked again. Nothing is deleted: the study remembers both."""
        session, person, done = await act(
            study, annotator, lambda session, person: acting.undo(session.assign, person, given.answer)
        )
        record = _kept(session, person, done)
        return JSONResponse({"undone": record.pop("kept"), **record})

    @router.post("/correct", response_model=schemas.Corrected, responses=failures(400, 409, 413, 503))
    async def correct(study: StudyName, given: schemas.AnswerCorrected, annotator: Annotator = None) -> Any:
        """Put another action in the place of one that was answered."""
        session, _, done = await act(
            study, annotator, lambda _, person: acting.correct(person, given.answer, given.action)
        )
        count = len(session.ledger.answers)
        return JSONResponse({"corrected": done.answer, "repeated": done.repeated, "num_answers": count})

    return router


def _kept(session: Session, person: str, done: acting.Done) -> dict[str, Any]:
    return {
        "kept": done.answer,
        "repeated": done.repeated,
        "num_answers": len(session.ledger.answers),
        "next": question_now(session, person),
    }


# Looking


def _looking(studio: Studio) -> APIRouter:
    router = APIRouter(prefix="/api/studies/{study}", dependencies=[TOKEN], tags=["looking"])

    @router.get("/history", response_model=schemas.History, responses=failures(400, 503))
    async def history(
        study: StudyName,
        annotator: Annotator = None,
        limit: Annotated[int, InQuery(ge=1, le=500, description="Most entries to return.")] = 50,
        offset: Annotated[int, InQuery(ge=0, le=10**9, description="How many of the newest entries to skip.")] = 0,
        mine: Annotated[bool, InQuery(description="Only what this person was asked or answered.")] = False,
    ) -> Any:
        """Return what was asked and answered, newest first."""
        session, person = await _person(studio, study, annotator)
        return JSONResponse(describing.history_record(session, person, limit, offset, is_own=mine))

    @router.get(
        "/belief", response_model=schemas.Belief, responses=failures(503) | {304: {"description": "Unchanged."}}
    )
    async def belief(
        study: StudyName,
        if_none_match: Annotated[
            str | None, Header(description="The `ETag` of the last reply; the new one is 304 if nothing has changed.")
        ] = None,
    ) -> Any:
        """Return what is known: scores, reward, policy, how sure the learner is, whether the model fits."""
        session = await _session(studio, study)
        count = len(session.ledger.answers)
        mark = f'"{session.hub.run}-{session.belief_revision}-{count}"'
        if if_none_match == mark:
            return Response(status_code=304, headers={"etag": mark, "cache-control": "no-cache"})
        found = session.belief or json.dumps(_unknown_belief(session)).encode()
        head = json.dumps({"revision": session.belief_revision, "num_answers": count}).encode()
        headers = {"etag": mark, "cache-control": "no-cache"}
        return Response(head[:-1] + b", " + found[1:], media_type="application/json", headers=headers)

    @router.get("/certificate", response_model=schemas.CertificateShown, responses=failures(503))
    async def certificate(study: StudyName) -> Any:
        """Return what the certificate says, and what it assumes."""
        return JSONResponse((await _session(studio, study)).certificate_now())

    @router.get("/status", response_model=schemas.Status, responses=failures(503))
    async def status(study: StudyName) -> Any:
        """Return how things stand, in short."""
        return JSONResponse((await _session(studio, study)).hello())

    @router.get(
        "/events",
        response_class=StreamingResponse,
        responses=failures(400, 503) | {200: {"content": {"text/event-stream": {}}}},
    )
    async def events(
        study: StudyName,
        annotator: Annotator = None,
        last_event_id: Annotated[
            str | None, Header(description="The `id` of the last event received; those missed since are sent again.")
        ] = None,
    ) -> Any:
        """Stream what changes, as server-sent events."""
        session, person = await _person(studio, study, annotator)
        if session.hub.is_full:
            return _failed(503, "Too many pages listen. Close some of them.", headers={"retry-after": "10"})

        async def stream() -> AsyncIterator[str]:
            try:
                async with aclosing(session.hub.listen(person, last_event_id)) as texts:
                    yield await anext(texts)  # only now is the person among those who listen
                    session.hub.tell("people", {"annotators": session.people()})
                    async for text in texts:
                        yield text
            finally:
                session.hub.tell("people", {"annotators": session.people()})

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    @router.get(
        "/download/{name}",
        response_class=Response,
        responses=failures(409, 503) | {200: {"content": {f"{kind}": {} for kind in TYPES.values()}}},
    )
    async def download(
        study: StudyName,
        name: Annotated[
            str, InPath(max_length=40, description=f"The file: {', '.join(f'`{name}`' for name in FILES)}.")
        ],
    ) -> Any:
        """Return a file to take home: report, policy, reward, demonstrations, certificate, comments."""
        session = await _session(studio, study)
        if name in MADE_HERE:
            content = await asyncio.to_thread(partial(_file, session, name))
        elif name in MADE_BY_WORKER:
            if not session.has_worker:
                words = "Nothing is computed here, only asked. Make this file with `journeyman study export`."
                return _failed(409, words)
            if not session.link.is_ready:
                return _failed(
                    409, "The learner is not ready yet. Ask again in a moment.", headers={"retry-after": "2"}
                )
            try:
                content = await asyncio.wait_for(asyncio.wrap_future(session.link.order(name)), FILE_SECONDS)
            except TimeoutError:
                words = "This takes too long now. Ask again when the learner has less to do."
                return _failed(409, words, headers={"retry-after": "60"})
            except RuntimeError as error:
                return _failed(409, _sentence(error), headers={"retry-after": "2"})
        else:
            raise acting.Missing(f"there is no file {name!r}. There are {', '.join((*MADE_BY_WORKER, *MADE_HERE))}.")
        safe = "".join(mark if mark.isascii() and (mark.isalnum() or mark in "-_.") else "_" for mark in session.name)
        headers = {"content-disposition": f'attachment; filename="{safe}-{name}"'}
        return Response(content, media_type=TYPES[name.rpartition(".")[2]], headers=headers)

    return router


def _file(session: Session, name: str) -> bytes:
    """Return a file that needs no inference: demonstrations, comments."""
    if name == "comments.csv":
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(("question", "state", "annotator", "comment"))
        for (query, person), words in sorted(session.desks.comments.items()):
            state = session.problem.mdp.state_name(session.ledger.queries[query].state)
            rows.writerow((query, *map(harmless, (state, person, words))))
        return text.getvalue().encode()
    from journeyman.study.exports import export_demonstrations

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        export_demonstrations(tuple(session.ledger.answers.values()), place, session.problem)
        return place.read_bytes()


def harmless(text: str) -> str:
    """Return a text of people that no spreadsheet takes for a formula: with ' before =, +, -, @ and the like."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _unknown_belief(session: Session) -> dict[str, Any]:
    """Return what is said while the learner is still starting."""
    settings = session.settings
    return {
        "is_ready": False, "based_on": 0, "scores": None, "reward": None, "policy": None, "course": [],
        "failure_chance": None, "expected_regret": None, "epsilon": epsilon_record(settings.epsilon),
        "epsilon_words": epsilon_words(settings.epsilon), "delta": settings.delta, "sure": None,
        "wanted": 1.0 - settings.delta, "progress_words": "The learner is starting.",
        "model": {"status": "unknown", "headline": "The learner is starting.", "sentences": [], "advice": []},
        "warnings": [], "expert": [], "explain": {},
    }  # fmt: skip


__all__ = ["Options", "Studio", "StudyError", "make_app"]
