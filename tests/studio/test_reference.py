"""docs/studio-api.md has the routes, parameters, fields, records, events and errors that there are, and no others."""

import copy
import json
import re
from pathlib import Path

import pytest
from studio.running import QUICK, Person, complaints, running

import journeyman.studio
from journeyman.errors import InputError
from journeyman.studio import create_app
from journeyman.studio.reference import END, START, operations, short, with_tables
from journeyman.studio.security import CODES
from journeyman.study import Study
from journeyman.worlds import make_world

PAGE = (Path(__file__).parents[2] / "docs" / "studio-api.md").read_text("utf-8")
PROSE = PAGE.partition(START)[0] + PAGE.partition(END)[2]
MAKE = "Run: python -m journeyman.studio.reference docs/studio-api.md"


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """The OpenAPI schema of an application with a study."""
    path = tmp_path_factory.mktemp("reference") / "s.study"
    study = Study.create(path, make_world("random-grid", 1, size=2).problem, **QUICK)
    app = create_app(study, has_worker=False)
    yield app.openapi()
    app.state.studio.close()


def test_the_tables_are_up_to_date(schema):
    assert with_tables(PAGE, schema) == PAGE, MAKE


def add_body_field(schema):
    schema["components"]["schemas"]["StepGiven"]["properties"]["speed"] = {"type": "number", "description": "New."}


def rename_body_field(schema):
    fields = schema["components"]["schemas"]["CommentGiven"]["properties"]
    fields["words"] = fields.pop("text")


def require_a_field(schema):
    schema["components"]["schemas"]["AnswerUndone"]["required"] = ["answer"]


def add_inner_field(schema):
    schema["components"]["schemas"]["NewWorld"]["properties"]["size"] = {"type": "integer", "description": "New."}


def add_parameter(schema):
    new = {"name": "since", "in": "query", "required": False, "schema": {"type": "string"}, "description": "New."}
    schema["paths"]["/api/studies/{study}/history"]["get"]["parameters"].append(new)


def remove_header(schema):
    schema["paths"]["/api/studies/{study}/events"]["get"]["parameters"].pop()


def add_route(schema):
    schema["paths"]["/api/studies/{study}/more"] = schema["paths"]["/api/studies/{study}/status"]


def change_status(schema):
    replies = schema["paths"]["/api/studies"]["post"]["responses"]
    replies["202"] = replies.pop("201")


def add_key(schema):
    schema["components"]["schemas"]["Choice"]["properties"]["risk"] = {"type": "number"}


@pytest.mark.parametrize(
    "change_fn",
    [
        add_body_field, rename_body_field, require_a_field, add_inner_field, add_parameter, remove_header, add_route,
        change_status, add_key,
    ],
)  # fmt: skip
def test_code_that_does_something_else_is_found(schema, change_fn):
    changed = copy.deepcopy(schema)
    change_fn(changed)
    assert with_tables(PAGE, changed) != PAGE


def test_all_that_is_shown_must_be_described(schema):
    changed = copy.deepcopy(schema)
    del changed["components"]["schemas"]["CommentGiven"]["properties"]["text"]["description"]
    with pytest.raises(InputError, match="must have a description"):
        with_tables(PAGE, changed)


def test_a_page_without_marks_is_refused(schema):
    with pytest.raises(InputError, match="must have each of these lines once"):
        with_tables(PROSE, schema)


def test_the_prose_names_only_what_there_is(schema):
    routes = {(method, short(path)) for method, path, _ in operations(schema)}
    named = re.findall(r"`(?:(GET|POST|PUT|PATCH|DELETE) )?(/[^`\s]*)`", PROSE)
    assert len(named) >= 3
    paths = {path for _, path in routes} | {"/api/openapi.json", "/api", "/api/studies/{study}"}
    assert {(method, path) for method, path in named if method} <= routes
    assert {path for _, path in named} <= paths
    records = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`", PROSE))
    assert "QuestionNow" in records
    assert records <= set(schema["components"]["schemas"])


def test_the_codes_of_errors_are_those_that_there_are():
    assert {int(status): code for status, code in re.findall(r"\b(\d{3})\s`(\w+)`", PROSE)} == CODES


def test_the_events_are_those_that_there_are():
    sources = "".join(path.read_text("utf-8") for path in Path(journeyman.studio.__file__).parent.glob("*.py"))
    told = set(re.findall(r"(?:\bhub\.tell|\b_event)\(\s*\"(\w+)\"", sources))
    table = PROSE.partition("## Events")[2].partition("## ")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == told
    assert {"hello", "answers", "belief", "bye"} <= told


def test_the_example_is_what_the_studio_returns(tmp_path):
    path = tmp_path / "example.study"
    problem = make_world("random-grid", 1, size=3, slip=0.0).problem
    with Study.create(path, problem, **QUICK, acquisition="random") as study:
        study.ask_batch(1)
    with running(Study.open(path)) as served:
        found = Person(served, "example", "ada").get("question").json()
    (shown,) = re.findall(r"^```json\n(.*?)^```$", PROSE, re.MULTILINE | re.DOTALL)
    assert json.loads(shown) == found, f"Show in docs/studio-api.md: {json.dumps(found)}"


def test_replies_have_the_keys_that_the_page_shows(served, ada, walk):
    """Of every route that returns JSON, at least once; test_worker.py looks at what is known after answers."""
    seen = set()

    def check(person, method, route, **body):
        schema = person.served.app.openapi()
        if route.startswith("/api"):
            path = route.replace("{study}", person.study)
            response = person.served.request(method, path, **({"json": body} if body else {}))
        else:
            path = route.replace("{number}", "0").removeprefix("/")
            response = person.get(path) if method == "GET" else person.post(path, **body)
        (operation,) = [found for verb, path, found in operations(schema) if (verb, short(path)) == (method, route)]
        described = operation["responses"][str(response.status_code)]["content"]["application/json"]["schema"]
        assert complaints(schema, described, response.json()) == [], (method, route)
        seen.add((method, route, response.status_code))
        return response.json()

    for route in ("/api/studies", "/api/studies/{study}", "/question", "/question/{number}"):
        check(ada, "GET", route)
    check(ada, "POST", "/comment", question=ada.question()["id"], text="hm")
    kept = check(ada, "POST", "/answer", question=ada.question()["id"], action=0)["kept"]
    check(ada, "POST", "/correct", answer=kept, action=1)
    for route in ("/history", "/belief", "/certificate", "/status"):
        check(ada, "GET", route)
    check(ada, "POST", "/undo")
    check(ada, "GET", "/history")
    check(ada, "POST", "/skip", question=ada.question()["id"])
    check(ada, "POST", "/cannot", question=ada.question()["id"])
    check(ada, "GET", "/question/{number}")
    check(ada, "POST", "/answer", question=0)  # neither an action nor steps: a failure
    question = walk.question()
    for _ in range(2):
        check(walk, "POST", "/step", question=question["id"], number=0, action=question["actions"][0]["action"])
        check(walk, "GET", "/question")
        check(walk, "POST", "/step/undo", question=question["id"], number=0)
    check(walk, "POST", "/step", question=question["id"], number=0, action=question["actions"][0]["action"])
    check(walk, "POST", "/end", question=question["id"])
    check(walk, "GET", "/history")
    check(walk, "GET", "/api/studies/{study}")
    check(ada, "POST", "/api/studies", name="new", world={"name": "random-grid"})
    wanted = {
        (method, short(path), int(status))
        for method, path, operation in operations(served.app.openapi())
        for status, reply in operation["responses"].items()
        if status < "300" and "schema" in reply.get("content", {}).get("application/json", {})
    }
    assert wanted <= seen
    assert ("POST", "/answer", 400) in seen
