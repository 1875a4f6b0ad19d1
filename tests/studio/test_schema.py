"""The OpenAPI schema is true: whatever it allows, and much that it does not, gets an answer that it describes.

No answer at all is a server error: not even of what cannot be computed here, which is a conflict.
"""

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from studio.running import QUICK, running

from journeyman.study import Study
from journeyman.worlds import make_world

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
ENDLESS, UPLOAD = "/api/studies/{study}/events", "POST /api/studies"
FILES = ("report.html", "policy.csv", "demonstrations.csv", "comments.csv", "certificate.json")
NUM_OPERATIONS = 21


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """The schema of a study of runs, with questions that wait, and no worker."""
    path = tmp_path_factory.mktemp("schema") / "s.study"
    problem = make_world("random-grid", 2, size=2, terminals="independent").problem
    with Study.create(path, problem, **QUICK, acquisition="random", kind="trajectory", length=3) as study:
        study.ask_batch(20)
    with running(Study.open(path), folder=path.parent) as served:
        found = schemathesis.openapi.from_dict(served.request("GET", "/api/openapi.json").json())
        found.served = served
        yield found


def sent(served, case):
    """Send a case as it stands to the application that runs in this process."""
    given = requests.Request(**case.as_transport_kwargs(base_url="http://127.0.0.1:8765")).prepare()
    headers = {name: value for name, value in given.headers.items() if name.lower() not in ("host", "authorization")}
    return served.request(given.method, given.url, headers=headers, content=given.body)


def try_operation(served, operation, mode, num_examples):
    """Send examples to an operation, most of them about what there is, check the answers, and return their statuses."""
    statuses = []

    @settings(
        max_examples=num_examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def run(case):
        if "study" in case.path_parameters and len(str(case.path_parameters["study"])) % 8:
            case.path_parameters["study"] = "s"
        if "name" in case.path_parameters and len(str(case.path_parameters["name"])) % 2:
            case.path_parameters["name"] = FILES[len(statuses) % len(FILES)]
        response = sent(served, case)
        statuses.append(response.status_code)
        case.validate_response(response, checks=CHECKS)

    run()
    return statuses


def try_all(schema, num_examples, is_wanted_fn):
    """Try operations by what the schema allows and by what it forbids; return the statuses of each, by its label."""
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) == NUM_OPERATIONS
    found = {}
    for operation in operations:
        if operation.path != ENDLESS and is_wanted_fn(operation.label):
            found[operation.label] = [
                status
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
                for status in try_operation(schema.served, operation, mode, num_examples)
            ]
    assert all(status < 500 for statuses in found.values() for status in statuses)
    return found


def test_nothing_that_can_be_sent_breaks_the_server(schema):
    found = try_all(schema, 2, lambda label: label != UPLOAD)
    assert len(found) == NUM_OPERATIONS - 2
    assert all(len(statuses) >= 2 for statuses in found.values())


@pytest.mark.slow
def test_much_that_can_be_sent_does_not_break_the_server(schema):
    found = try_all(schema, 100, lambda label: label != UPLOAD)
    assert len(found) == NUM_OPERATIONS - 2
    assert sum(map(len, found.values())) > 2000
    assert {200, 400, 401, 404, 409, 422} - {401} <= {status for statuses in found.values() for status in statuses}
    assert all(
        200 in statuses for label, statuses in found.items() if label.startswith("GET") and "{state}" not in label
    )


@pytest.mark.slow
def test_no_upload_breaks_the_server(schema):
    statuses = try_all(schema, 10, lambda label: label == UPLOAD)[UPLOAD]
    assert len(statuses) >= 15
    assert 422 in statuses


def test_every_field_and_route_has_words(schema):
    for path, operations in schema.raw_schema["paths"].items():
        for method, operation in operations.items():
            assert operation["description"].endswith("."), (method, path)
            assert "401" in operation["responses"], (method, path)
