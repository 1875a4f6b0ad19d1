"""Who is let in, and how: token, cookie, Host, Origin, limits, and the headers of every response."""

import base64
import hashlib
import logging
import re

import pytest
from studio.running import TOKEN, running

from journeyman.studio.security import HEADERS, MAX_BODY, Bucket
from journeyman.study import Study

API = "/api/studies"


@pytest.fixture(scope="module")
def served(asked, tmp_path_factory):
    """A study that is served for all of these tests: they change nothing."""
    path = tmp_path_factory.mktemp("served") / "grid.study"
    path.write_bytes(asked)
    with running(Study.open(path), folder=path.parent) as found:
        yield found


@pytest.mark.parametrize("token", [None, "wrong", TOKEN[:-1], ""])
@pytest.mark.parametrize(
    "path",
    ["/", "/static/main.js", API, "/api/openapi.json", f"{API}/grid", f"{API}/grid/events", f"{API}?token={TOKEN}"],
)
def test_nothing_is_served_without_the_token(served, path, token):
    """The address of the page alone may hold it."""
    response = served.request("GET", path, token=token)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "no_token")


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({}, 401, ("needs its key", "Open the address that journeyman studio printed", "start it again")),
        ({"host": "evil.example"}, 403, ("cannot be shown", "This name is not served here")),
    ],
)
def test_people_who_are_not_let_in_read_what_to_do(served, headers, status, words):
    response = served.request("GET", "/", token=None, headers={"accept": "text/html,*/*", **headers})
    assert response.status_code == status
    assert all(part in response.text for part in words)
    policy = response.headers["content-security-policy"]
    (style,) = re.findall("<style>(.*)</style>", response.text)
    mark = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{mark}'" in policy and "unsafe" not in policy


def test_the_page_exchanges_the_token_for_a_cookie(served):
    response = served.request("GET", f"/?token={TOKEN}&annotator=ada", token=None)
    assert response.status_code == 200
    cookie = response.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert TOKEN not in cookie
    pair = cookie.partition(";")[0]
    assert served.request("GET", API, token=None, headers={"cookie": pair}).status_code == 200
    assert served.request("GET", API, token=None, headers={"cookie": f"{pair}x"}).status_code == 401
    assert served.request("GET", API, token=None, headers={"cookie": '"=;\\x00'}).status_code == 401
    for odd in (
        'prefs={"a":1,"b":[2]}',
        "a[b]=1",
        "weird name=1",
        "flag",
        "=",
        '"',
    ):  # of other programs on this computer
        headers = {"cookie": f"{odd}; {pair}; {odd}"}
        assert served.request("GET", API, token=None, headers=headers).status_code == 200, odd


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        *(
            ({"host": host}, 403)
            for host in (
                *(
                    "evil.example",
                    "127.0.0.1.evil.example",
                    "",
                    "localhost.evil.example:8765",
                    "localhost:evil.example",
                ),
                *("[::1].evil.example", "[::1]evil.example:1", "[::1", "127.0.0.1:1:2", "a@127.0.0.1"),
            )
        ),
        *(({"host": host}, 200) for host in ("127.0.0.1:8765", "localhost:1", "[::1]:8765", "LOCALHOST")),
        *(
            ({"origin": origin}, 403)
            for origin in ("http://evil.example", "null", "http://127.0.0.1:9999", "file://", "https://127.0.0.1")
        ),
        ({"origin": "http://127.0.0.1:8765"}, 200),
        *(({"sec-fetch-site": site}, 403) for site in ("cross-site", "same-site")),
        *(({"sec-fetch-site": site}, 200) for site in ("same-origin", "none")),
    ],
)
def test_other_hosts_and_origins_are_refused_whatever_they_know(served, headers, status):
    response = served.request("GET", API, headers=headers)
    assert response.status_code == status
    if status == 403:
        assert response.json()["error"]["code"] == "forbidden"
        assert served.request("POST", f"{API}/grid/undo", json={}, headers=headers).status_code == 403


def test_a_link_from_elsewhere_may_open_the_page(served):
    assert served.request("GET", f"/?token={TOKEN}", headers={"sec-fetch-site": "cross-site"}).status_code == 200


def test_hosts_can_be_added(grid):
    with running(Study.open(grid), hosts=("lab.example",)) as served:
        assert served.request("GET", API, headers={"host": "lab.example:8765"}).status_code == 200
        assert served.request("GET", API, headers={"host": "other.example:8765"}).status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "options"),
    [
        ("GET", API, {}),
        ("GET", f"/?token={TOKEN}", {}),
        ("GET", API, {"token": None}),
        ("GET", "/nothing", {}),
        ("GET", f"{API}/grid/download/demonstrations.csv", {}),
        ("POST", f"{API}/grid/answer", {"content": b"{"}),
    ],
)
def test_every_response_has_the_headers(served, method, path, options):
    response = served.request(method, path, **options)
    assert {name: response.headers[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["content-security-policy"]
    assert not path.startswith("/api") or response.headers["cache-control"] == "no-store"


def test_large_requests_are_refused(served):
    body = b'{"question": 0, "comment": "' + b"x" * MAX_BODY + b'"}'
    assert served.request("POST", f"{API}/grid/answer", content=body).status_code == 413

    async def parts():
        for _ in range(MAX_BODY // 1000 + 2):
            yield b" " * 1000

    response = served.request("POST", f"{API}/grid/answer", content=parts())  # no length is stated
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


def test_too_many_requests_are_refused_for_a_while(grid):
    with running(Study.open(grid), is_limited=True) as served:
        statuses = [served.request("GET", API, token="wrong").status_code for _ in range(25)]
        assert statuses[:20] == [401] * 20
        assert 429 in statuses[20:]
        assert int(served.request("GET", API, token="wrong").headers["retry-after"]) >= 1
        assert served.request("GET", API).status_code == 200  # who has the token is not held up by others


def test_a_bucket_fills_at_its_rate(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("journeyman.studio.security.time.monotonic", lambda: now[0])
    bucket = Bucket(rate=2.0, burst=3.0)
    assert [bucket.wait_for("a") for _ in range(3)] == [0.0, 0.0, 0.0]
    assert bucket.wait_for("a") == pytest.approx(0.5)
    assert bucket.wait_for("b") == 0.0
    now[0] += 0.5
    assert bucket.wait_for("a") == 0.0
    assert bucket.wait_for("a") > 0.0


def test_the_token_is_in_no_log_and_in_no_answer(served, caplog):
    with caplog.at_level(logging.DEBUG):
        for response in (
            served.request("GET", f"/?token={TOKEN}"),
            served.request("GET", API),
            served.request("GET", "/api/openapi.json"),
            served.request("GET", f"{API}/grid"),
        ):
            assert TOKEN not in response.text
    assert TOKEN not in "".join(record.getMessage() for record in caplog.records if "httpx" not in record.name)


def test_a_fault_of_ours_shows_no_traceback(served, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("journeyman.studio.app.describing.history_record", lambda *_, **__: broken())
    response = served.request("GET", f"{API}/grid/history")
    assert (response.status_code, response.json()["error"]["code"]) == (500, "internal")
    assert "secret" not in response.text and "Traceback" not in response.text


def test_web_sockets_are_refused(served):
    sent = []

    async def send(message):
        sent.append(message)

    served.do(served.app({"type": "websocket", "path": "/", "headers": []}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/static/../app.py", 404, "not_found"),
        ("GET", f"{API}/other", 404, "not_found"),
        ("GET", f"{API}/..%2Fgrid", 404, "not_found"),
        ("DELETE", f"{API}/grid", 405, "not_allowed"),
        ("GET", f"{API}/grid/question/99", 404, "not_found"),
        ("GET", f"{API}/grid/question/x", 422, "invalid"),
        ("GET", f"{API}/grid/history?limit=0", 422, "invalid"),
        ("GET", f"{API}/grid/question?annotator=", 422, "invalid"),
        ("GET", f"{API}/grid/question?annotator=%01", 422, "invalid"),
        ("GET", f"{API}/grid/question?annotator={'x' * 65}", 422, "invalid"),
        ("GET", f"{API}/grid/pictures/0", 404, "not_found"),
        ("GET", f"{API}/grid/download/secrets.txt", 404, "not_found"),
        ("GET", f"{API}/grid/download/report.html", 409, "conflict"),
    ],
)
def test_wrong_addresses_are_explained(served, method, path, status, code):
    response = served.request(method, path)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["code"] == code
    assert error["message"].endswith(".")


def test_an_address_with_too_many_fields_is_refused(served):
    fields = "&".join(f"field{i}=1" for i in range(60))
    for token in (TOKEN, None):
        response = served.request("GET", f"{API}?{fields}", token=token)
        assert response.status_code == 400
        assert response.json()["error"]["code"] == "bad_input"
        assert all(response.headers[name] == value for name, value in HEADERS.items())
