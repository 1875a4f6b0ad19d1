"""What keeps strangers out: a token, checks of Host and Origin, limits on size and rate, and headers for browsers.

A page that some other site shows in the same browser can send requests to 127.0.0.1; it knows no token, its Origin
gives it away, and a name of its own that leads here (DNS rebinding) is not among the hosts that are served.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_BODY, MAX_UPLOAD = 64_000, 2_500_000  # bytes of a request, and of one that brings a problem
BODY_SECONDS = 20.0
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:\[\]]+))(?::\d*)?")
MAX_FIELDS = 50  # in the address of a request
COOKIE_SECONDS = 30 * 24 * 3600
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
CODES = {
    400: "bad_input", 401: "no_token", 403: "forbidden", 404: "not_found", 405: "not_allowed", 408: "too_slow",
    409: "conflict", 413: "too_large", 422: "invalid", 429: "too_many", 500: "internal", 503: "unavailable",
}  # fmt: skip
NO_TOKEN = (
    "Open the address that `journeyman studio` printed: it has the token that is needed here. Programs send it as "
    "Authorization: Bearer TOKEN."
)
OTHER_PAGE = "Requests must come from the page of the studio itself, or from a program that sends no Origin."


def error_record(status: int, message: str, field: str | None = None, hint: str | None = None) -> dict[str, Any]:
    """Return an error as every route returns it."""
    return {"error": {"code": CODES.get(status, "error"), "message": message, "field": field, "hint": hint}}


class Bucket:
    """Allows `rate` requests a second for each key, and `burst` at once."""

    def __init__(self, rate: float, burst: float, most_keys: int = 2000) -> None:
        self.rate, self.burst, self.most_keys = rate, burst, most_keys
        self._levels: dict[object, tuple[float, float]] = {}

    def wait_for(self, key: object) -> float:
        """Take one; return 0, or the seconds until there is one again."""
        now = time.monotonic()
        level, before = self._levels.get(key, (self.burst, now))
        level = min(self.burst, level + (now - before) * self.rate)
        if level < 1.0:
            self._levels[key] = (level, now)
            return (1.0 - level) / self.rate
        if len(self._levels) >= self.most_keys:
            self._levels.clear()  # those who are limited are so again soon
        self._levels[key] = (level - 1.0, now)
        return 0.0


class Guard:
    """The outermost part of the application: lets in who may come in, and nothing that is too large or too much."""

    def __init__(
        self, app: ASGIApp, *, token: str, hosts: frozenset[str], is_limited: bool, upload_paths: frozenset[str]
    ) -> None:
        self.app, self.token, self.hosts = app, token, LOOPBACK | hosts
        self.secret = hashlib.sha256(b"journeyman studio cookie:" + token.encode()).hexdigest()
        self.cookie = f"journeyman-{hashlib.sha256(token.encode()).hexdigest()[:8]}"
        self.upload_paths, self.is_limited = upload_paths, is_limited
        self.wrong = Bucket(0.5, 20)  # tokens, per address
        self.each = Bucket(40, 200)  # requests, per address and annotator
        self.all = Bucket(1500, 3000)
        self.uploads = Bucket(0.2, 10)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        sending = _with_headers(send, scope["path"].startswith("/api"))
        try:
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=MAX_FIELDS)
        except ValueError:
            await _refuse(scope, sending, 400, f"An address must have at most {MAX_FIELDS} fields. Send fewer.")
            return
        refusal = self._refusal(scope, headers, query)
        if refusal is not None:
            await _refuse(scope, sending, *refusal)
            return
        if scope["path"] == "/" and "token" in query:
            sending = _with_cookie(sending, self.cookie, self.secret, is_secure=scope.get("scheme") == "https")
        if scope["method"] in ("POST", "PUT", "PATCH", "DELETE"):
            most = MAX_UPLOAD if scope["path"] in self.upload_paths else MAX_BODY
            try:
                found = await asyncio.wait_for(_body(receive, headers, most), BODY_SECONDS)
            except TimeoutError:
                await _refuse(scope, sending, 408, "The request took too long to arrive. Send it again.")
                return
            if found is None:
                await _refuse(scope, sending, 413, f"A request must have at most {most} bytes. Send less.")
                return
            receive = _replayed(found, receive)
        await self.app(scope, receive, sending)

    def _refusal(self, scope: Scope, headers: Headers, query: Mapping[str, list[str]]) -> tuple[Any, ...] | None:
        host = headers.get("host", "")
        if _name_of(host) not in self.hosts:
            return 403, "This name is not served here. Open the address that `journeyman studio` printed."
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return 403, OTHER_PAGE
        is_navigation = scope["method"] == "GET" and scope["path"] == "/"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_navigation:
            return 403, OTHER_PAGE
        client = (scope.get("client") or ("?",))[0]
        if not self._is_known(headers, query if is_navigation else {}):
            if self.is_limited and (seconds := self.wrong.wait_for(client)):
                return 429, "Too many requests without the token. Wait a little.", seconds
            return 401, NO_TOKEN
        if self.is_limited:
            name = query.get("annotator", [""])[0][:64]
            seconds = self.each.wait_for((client, name)) or self.all.wait_for("all")
            if not seconds and scope["method"] == "POST" and scope["path"] in self.upload_paths:
                seconds = self.uploads.wait_for(client)
            if seconds:
                return 429, "Too many requests. Wait a little.", seconds
        return None

    def _is_known(self, headers: Headers, query: Mapping[str, list[str]]) -> bool:
        """Whether a request has the token: in its header, its cookie, or the address of the page."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), self.token):
            return True
        if any(_same(value, self.token) for value in query.get("token", ())):
            return True
        # Not by http.cookies: it stops at the first cookie that is odd, and those of all local programs come along.
        cookies = (pair.strip().partition("=") for pair in ";".join(headers.getlist("cookie")).split(";"))
        return any(name == self.cookie and _same(value.strip('"'), self.secret) for name, _, value in cookies)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _name_of(host: str) -> str:
    """Return the name in a Host header, without port and brackets; nothing if it is none."""
    found = HOST.fullmatch(host.strip().lower())
    return (found[1] or found[2]) if found else ""


async def _body(receive: Receive, headers: Headers, most: int) -> bytes | None:
    """Return the body of a request, or None if it is too large."""
    stated = headers.get("content-length", "")
    if stated.isdecimal() and int(stated) > most:
        return None
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def again() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send, is_api: bool) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = message.setdefault("headers", [])
            names = {name.lower() for name, _ in given}
            extra = dict(HEADERS)
            if is_api:
                extra["cache-control"] = "no-store"
            given += [(k.encode(), v.encode()) for k, v in extra.items() if k.encode() not in names]
        await send(message)

    return sending


def _with_cookie(send: Send, name: str, secret: str, *, is_secure: bool) -> Send:
    parts = [f"{name}={secret}", "HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={COOKIE_SECONDS}"]
    cookie = "; ".join([*parts, "Secure"] if is_secure else parts).encode()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message.setdefault("headers", []).append((b"set-cookie", cookie))
        await send(message)

    return sending


STYLE = (
    ":root{color-scheme:light dark}body{font:1.05rem/1.5 system-ui,sans-serif;margin:12vh auto;max-width:34rem;"
    "padding:0 1rem}h1{font-size:1.5rem}code{font-size:.95em}li{margin:.4rem 0}"
)
STYLE_MARK = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
KEY_STEPS = (
    "Go to the terminal in which the command runs, or ask whoever started it.",
    "Open the whole address that it printed; it ends in <code>token=</code> and some letters. A part of it is not "
    "enough.",
    "Is the address gone? Stop the command with Ctrl-C and start it again: it prints the same one. Nothing is lost.",
)


def refusal_page(status: int, message: str) -> bytes:
    """Return what people read who open the page and are not let in."""
    title, steps = "This page cannot be shown", ""
    if status == 401:
        title, steps = "This page needs its key", f"<ol>{''.join(f'<li>{step}</li>' for step in KEY_STEPS)}</ol>"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>journeyman studio</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><main><p>journeyman studio</p><h1>{title}</h1><p>{message.replace('`', '')}</p>{steps}</main></body>"
        "</html>"
    ).encode()


async def _refuse(scope: Scope, send: Send, status: int, message: str, seconds: float | None = None) -> None:
    """Answer a request that is not let in; people who open the page read it as a page."""
    accepts = Headers(scope=scope).get("accept", "")
    headers = [(b"content-type", b"application/json")]
    if scope["path"] == "/" and "text/html" in accepts:
        policy = POLICY.replace("style-src 'self'", f"style-src 'sha256-{STYLE_MARK}'")
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", policy.encode())]
        body = refusal_page(status, message)
    else:
        body = json.dumps(error_record(status, message)).encode()
    if seconds is not None:
        headers.append((b"retry-after", str(max(1, round(seconds))).encode()))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    headers += [(b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
