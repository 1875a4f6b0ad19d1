"""Live events: numbered, in order, told again to who was away."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

from studio.running import TOKEN, until

from journeyman.studio.live import Hub


def read(text):
    """The name, number and data of an event of a stream."""
    fields = dict(line.split(": ", 1) for line in text.strip().splitlines())
    return fields.get("event"), fields.get("id"), json.loads(fields["data"]) if "data" in fields else None


def listening(work_fn):
    """Run `work_fn(hub, take_fn)` in a loop; `take_fn(stream)` reads the next event of a stream."""

    async def run():
        hub = Hub(lambda: {"num_answers": 7})
        hub.attach(asyncio.get_running_loop())

        async def take(stream):
            return read(await asyncio.wait_for(anext(stream), 5))

        await work_fn(hub, take)

    with ThreadPoolExecutor(1) as pool:  # of its own: tests in a browser leave a loop running in this one
        pool.submit(lambda: asyncio.run(run())).result()


def test_a_page_is_greeted_and_then_told_what_changes():
    async def work(hub, take):
        stream = hub.listen("ada", None)
        assert (await anext(stream)).startswith("retry: ")
        name, number, data = await take(stream)
        assert (name, data) == ("hello", {"num_answers": 7})
        assert list(hub.people.values()) == ["ada"]
        hub.tell("belief", {"revision": 1})
        name, following, data = await take(stream)
        assert (name, data) == ("belief", {"revision": 1})
        assert int(following.rpartition("-")[2]) == int(number.rpartition("-")[2]) + 1
        hub.close()
        assert (await take(stream))[0] == "bye"
        await stream.aclose()
        assert not hub.people

    listening(work)


def test_who_was_away_is_told_what_was_missed():
    async def work(hub, take):
        hub.tell("belief", {"revision": 1})
        hub.tell("question", {})
        await asyncio.sleep(0.01)
        stream = hub.listen("", f"{hub.run}-1")
        await anext(stream)
        assert [(await take(stream))[0] for _ in range(2)] == ["hello", "question"]
        other = hub.listen("", "ffff-0")  # of another run: a greeting is all that makes sense
        await anext(other)
        assert (await take(other))[0] == "hello"
        hub.tell("answers", {"num_answers": 8})
        assert (await take(other))[0] == (await take(stream))[0] == "answers"

    listening(work)


def test_of_many_changes_at_once_the_first_and_the_last_are_told():
    async def work(hub, take):
        stream = hub.listen("", None)
        await anext(stream)
        await take(stream)
        for count in range(50):
            hub.tell("answers", {"num_answers": count})
            await asyncio.sleep(0)
        found = [await take(stream) for _ in range(2)]
        assert found[-1][2] == {"num_answers": 49}
        assert hub._number == 2

    listening(work)


def test_the_stream_of_a_study(ada):
    """A page is greeted, hears of an answer, and is forgotten when it goes."""
    served, session = ada.served, ada.served.studio.sessions["grid"]
    sent, is_gone = [], asyncio.Event()

    async def receive():
        await is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    path = "/api/studies/grid/events"
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"annotator=ada",
        "headers": headers, "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765),
        "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    streaming = asyncio.run_coroutine_threadsafe(served.app(scope, receive, send), served.loop)

    def text():
        return b"".join(message.get("body", b"") for message in sent).decode()

    until(lambda: "event: hello" in text())
    until(lambda: "event: people" in text())  # all are told who came
    (told,) = [event for event in text().split("\n\n") if "event: people" in event]
    assert read(told)[2]["annotators"] == [{"name": "ada", "num_answers": 0, "is_here": True}]
    assert dict(sent[0]["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert ada.get("status").json()["annotators"][0]["is_here"] is True
    ada.post("answer", question=ada.question()["id"], action=1)
    until(lambda: "event: answers" in text())
    (told,) = [event for event in text().split("\n\n") if "event: answers" in event]
    assert read(told)[2]["open"] == [ada.question()["id"]]
    served.loop.call_soon_threadsafe(is_gone.set)
    streaming.result(10)
    assert not session.hub.people


def test_a_number_that_is_none_is_taken_for_none():
    hub = Hub(dict)
    assert hub._seen(f"{hub.run}-3") == 3
    for last in (None, "", "3", f"{hub.run}-", f"{hub.run}-x", f"{hub.run}-{'9' * 5000}"):
        assert hub._seen(last) == 0
