"""What the tests of the studio share: an application that runs in this process, with a loop in a thread of its own."""

import asyncio
import threading
import time
from contextlib import AsyncExitStack, contextmanager

import httpx
from jsonschema import Draft202012Validator

from journeyman.studio import create_app

TOKEN = "a-token-for-tests-that-is-long-enough-0123456789"
QUICK = {"inference_options": {"num_particles": 100}, "seed": 5}


class Running:
    """An application in this process; requests go to it without a network."""

    def __init__(self, app):
        self.app, self.studio = app, app.state.studio
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.stack = AsyncExitStack()
        self.do(self.stack.enter_async_context(app.router.lifespan_context(app)))

    def do(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(120)

    def request(self, method, path, *, token=TOKEN, headers=None, **options):
        async def send():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            given = {} if token is None else {"authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
                return await client.request(method, path, headers={**given, **(headers or {})}, **options)

        return self.do(send())

    def close(self):
        self.do(self.stack.aclose())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@contextmanager
def running(study, **options):
    """Serve a study in this process; without a worker unless it is asked for."""
    served = Running(create_app(study, token=TOKEN, **{"has_worker": False, "is_limited": False, **options}))
    try:
        yield served
    finally:
        served.close()


class Person:
    """Somebody who answers the questions of one study."""

    def __init__(self, served, study, name=None):
        self.served, self.study, self.name = served, study, name

    def _send(self, method, what, **options):
        params = {**({} if self.name is None else {"annotator": self.name}), **options.pop("params", {})}
        return self.served.request(method, f"/api/studies/{self.study}/{what}", params=params, **options)

    def get(self, what, **params):
        return self._send("GET", what, params=params)

    def post(self, what, **body):
        return self._send("POST", what, json=body)

    def question(self):
        return self.get("question").json()["question"]

    def wait_for_question(self, seconds=90):
        return until(self.question, seconds)


def until(look_fn, seconds=90):
    """Look again and again until there is something; fail if there never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look_fn():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come in time")


def complaints(schema, value_schema, value):
    """Return what is wrong with a reply: the records of an OpenAPI schema, with exactly their keys, are meant."""
    records = {
        name: {**record, "additionalProperties": False, "required": list(record.get("properties", ()))}
        for name, record in schema["components"]["schemas"].items()
    }
    validator = Draft202012Validator({**value_schema, "components": {"schemas": records}})
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]
