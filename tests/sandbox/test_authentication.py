"""Authentication schemes, tested with real clients over HTTP and with requests in process."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import timedelta

import httpx
import orjson
import pytest

from clerkship.actors.messages import describe_sandboxes
from clerkship.actors.sandbox_requests import AgentRequests
from clerkship.checks.conformance.checks import CHECKS, Check
from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.cli.console import out
from clerkship.cli.up import _print_access
from clerkship.playground.in_process import open_sandboxes
from clerkship.playground.listeners import ListenerPool
from clerkship.sandbox.authentication.credentials import (
    MAX_ISSUED,
    PURGE_FROM,
    SandboxCredentials,
    SecretTable,
    secrets_match,
)
from clerkship.sandbox.authentication.password import BasicPassword, encode_basic
from clerkship.sandbox.authentication.signed import canonical_string
from clerkship.sandbox.component import NoConfig
from clerkship.sandbox.faults.request_faults import ErrorFault, ExpiredFault
from clerkship.sandbox.handle import Sandboxes
from clerkship.sandbox.request import QueryParams, Request
from clerkship.service.up import _build_accesses
from clerkship.simulators.spec import Spec
from tests.sandbox.locked_simulators import (
    BASIC_SPEC,
    COOKIE_SPEC,
    OAUTH,
    OAUTH_SPEC,
    SESSION,
    SEVERAL_SPEC,
    SIGNED,
    SIGNED_SPEC,
    SPECS,
    build_locked_spec,
)

ANSWERED = "sandbox.answered"


@contextmanager
def open_client(rig: SimulatorRig, **options: object) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=rig.url(), timeout=10, **options) as opened:  # type: ignore[arg-type]
        yield opened


def list_event_kinds(rig: SimulatorRig) -> list[str]:
    return [event.kind for event in rig.playground.log.events]


def get_connection_info(rig: SimulatorRig, scheme: str) -> dict[str, str]:
    return dict(rig.playground.sandboxes[rig.name].authentication_info(rig.url())[scheme])  # type: ignore[arg-type]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_a_simulator_with_another_scheme_conforms(spec: Spec, check: Check) -> None:
    check(spec)


# Basic.


def test_basic_accepts_user_and_password_from_the_connection_info() -> None:
    with SimulatorRig(BASIC_SPEC) as rig:
        info = get_connection_info(rig, "basic")
        assert info == {"user": "AC0001", "password": rig.token}
        with open_client(rig, auth=httpx.BasicAuth(info["user"], info["password"])) as agent:
            assert agent.post("/notes", json={"text": "hello"}).status_code == 201
            assert agent.get("/notes").json() == ["hello"]
        assert list_event_kinds(rig) == ["locked.note.added", ANSWERED]


@pytest.mark.parametrize("user", ["AC0001", "AC0002"])
def test_basic_refuses_wrong_user_or_password_with_a_basic_challenge(user: str) -> None:
    with SimulatorRig(BASIC_SPEC) as rig, open_client(rig) as agent:
        password = "wrong" if user == "AC0001" else rig.token
        reply = agent.get("/notes", auth=httpx.BasicAuth(user, password))
        assert (reply.status_code, reply.headers["www-authenticate"]) == (
            401,
            'Basic realm="clerkship", charset="UTF-8"',
        )
        assert "user and password" in reply.json()["error"]["message"]
        assert rig.lines == []


@pytest.mark.parametrize("header", ["Basic", "Basic %%%", "Basic bm9jb2xvbg==", "Basic /w==", "basic\t", "Bearer x"])
def test_malformed_basic_header_is_refused_with_401(header: str) -> None:
    with SimulatorRig(BASIC_SPEC) as rig:
        assert rig.send(Request("GET", "/notes", {}, {"authorization": header}), token="").status == 401


def test_basic_user_defaults_to_the_name_of_the_sandbox() -> None:
    with SimulatorRig(build_locked_spec(BasicPassword())) as rig:
        header = {"authorization": f"basic {encode_basic('box', rig.token)}"}
        assert rig.send(Request("GET", "/notes", {}, header), token="").status == 200


# Sessions.


def test_a_client_logs_in_uses_its_cookie_and_logs_out() -> None:
    with SimulatorRig(COOKIE_SPEC) as rig, open_client(rig) as agent:
        info = get_connection_info(rig, "session")
        assert info == {"user": "box", "password": rig.token, "login_url": f"{rig.url()}/login"}
        reply = agent.post(info["login_url"], data={"user": info["user"], "password": info["password"]})
        path = httpx.URL(rig.url()).path
        assert reply.status_code == 204
        assert reply.headers["set-cookie"].endswith(f"; Path={path}; HttpOnly; SameSite=Lax")
        assert agent.post("/notes", json={"text": "hello"}).status_code == 201
        session = agent.cookies["session"]
        assert agent.post("/logout").status_code == 204
        assert "session" not in agent.cookies
        late = agent.get("/notes", headers={"cookie": f"session={session}"})
        assert (late.status_code, late.headers["www-authenticate"][:6]) == (401, "Cookie")
        assert list_event_kinds(rig) == ["locked.login", "locked.note.added", "locked.logout"]


def test_a_session_expires_in_simulated_time() -> None:
    with SimulatorRig(COOKIE_SPEC) as rig:
        cookie = rig.authorize(Request("GET", "/notes"))
        rig.playground.advance(timedelta(hours=7, minutes=59))
        assert rig.send_http(Request("GET", "/notes"), cookie).status == 200
        rig.playground.advance(timedelta(minutes=2))
        assert rig.send_http(Request("GET", "/notes"), cookie).status == 401


def test_a_wrong_password_is_not_logged_and_opens_no_session() -> None:
    with SimulatorRig(COOKIE_SPEC) as rig, open_client(rig) as agent:
        reply = agent.post("/login", data={"user": "box", "password": "guess"})
        assert (reply.status_code, "set-cookie" in reply.headers) == (401, False)
        assert reply.json()["error"]["message"] == "the user or the password is wrong"
        assert rig.lines == []
        [listed] = rig.playground.sidecar.unauthenticated.requests
        assert (listed["path"], listed["reason"]) == ("/login", "the user or the password is wrong")
        assert b"guess" not in orjson.dumps(rig.playground.sidecar.data())


def test_no_session_id_access_token_or_password_gets_into_the_log() -> None:
    with SimulatorRig(SEVERAL_SPEC) as rig:
        request, credentials = Request("GET", "/notes"), rig.playground.sandboxes["box"].credentials
        [token] = OAUTH.authorize(request, credentials, rig.playground.clock).values()
        [session] = SESSION.authorize(request, credentials, rig.playground.clock).values()
        secrets = [token.split(" ")[1], session.split("=")[1], encode_basic("AC0001", rig.token), rig.token]
        rig.send(Request("POST", f"/nowhere/{secrets[0]}", {"q": secrets[1]}, {}, " ".join(secrets).encode()))
        [line] = rig.lines
        assert line.count(b"[issued credential]") >= 3
        assert not [secret for secret in secrets if secret.encode() in line]


# OAuth 2.


class ClientCredentialsAuth(httpx.Auth):
    """Requests a token if it has none, or its token was refused."""

    requires_response_body = True

    def __init__(self, info: dict[str, str], *, in_form: bool) -> None:
        self._info, self._in_form, self._token = info, in_form, ""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
            if (yield request).status_code != 401:
                return
        answer = yield self._ask()
        self._token = answer.json()["access_token"]
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request

    def _ask(self) -> httpx.Request:
        client_id, secret = self._info["client_id"], self._info["client_secret"]
        form = {"grant_type": "client_credentials"}
        if self._in_form:
            form |= {"client_id": client_id, "client_secret": secret}
            return httpx.Request("POST", self._info["token_url"], data=form)
        headers = {"Authorization": f"Basic {encode_basic(client_id, secret)}"}
        return httpx.Request("POST", self._info["token_url"], data=form, headers=headers)


@pytest.mark.parametrize("in_form", [True, False])
def test_a_client_gets_an_access_token_and_another_when_it_has_expired(in_form: bool) -> None:
    with SimulatorRig(OAUTH_SPEC) as rig:
        info = get_connection_info(rig, "oauth2")
        assert info == {"client_id": "box", "client_secret": rig.token, "token_url": f"{rig.url()}/token"}
        with open_client(rig, auth=ClientCredentialsAuth(info, in_form=in_form)) as agent:
            assert agent.get("/notes").status_code == 200
            assert agent.get("/notes").status_code == 200
            rig.playground.advance(timedelta(minutes=6))
            assert agent.get("/notes").status_code == 200
        assert list_event_kinds(rig) == [
            "locked.login",
            ANSWERED,
            ANSWERED,
            "locked.login",
            ANSWERED,
        ]


def test_token_response_follows_rfc_6749_and_expired_token_is_refused() -> None:
    with SimulatorRig(OAUTH_SPEC) as rig, open_client(rig) as agent:
        form = {"grant_type": "client_credentials"}
        reply = agent.post("/token", data=form, auth=httpx.BasicAuth("box", rig.token))
        issued = reply.json()
        assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
        assert (issued["token_type"], issued["expires_in"]) == ("Bearer", 300)
        rig.playground.advance(timedelta(minutes=6))
        late = agent.get("/notes", headers={"Authorization": f"Bearer {issued['access_token']}"})
        assert late.status_code == 401
        assert (
            'error="invalid_token", error_description="the access token has expired"'
            in late.headers["www-authenticate"]
        )


@pytest.mark.parametrize(
    ("form", "status", "error"),
    [
        ({"grant_type": "client_credentials"}, 401, "invalid_client"),
        ({"grant_type": "client_credentials", "client_id": "box", "client_secret": "wrong"}, 401, "invalid_client"),
        ({"grant_type": "client_credentials", "client_id": "other", "client_secret": "RIGHT"}, 401, "invalid_client"),
        ({"grant_type": "password", "client_id": "box", "client_secret": "RIGHT"}, 400, "unsupported_grant_type"),
        ({"client_id": "box", "client_secret": "RIGHT"}, 400, "invalid_request"),
        (
            {"grant_type": "client_credentials", "client_id": "box", "client_secret": "RIGHT", "scope": "system/*.rs"},
            400,
            "invalid_scope",
        ),
    ],
)
def test_token_endpoint_refuses_with_oauth_error_codes(form: dict[str, str], status: int, error: str) -> None:
    with SimulatorRig(OAUTH_SPEC) as rig, open_client(rig) as agent:
        sent = {name: rig.token if value == "RIGHT" else value for name, value in form.items()}
        reply = agent.post("/token", data=sent)
        assert (reply.status_code, reply.json()["error"]) == (status, error)
        assert reply.headers.get("www-authenticate", "").startswith("Basic") == (status == 401)
        assert list_event_kinds(rig) == ([] if status == 401 else ["sandbox.refused"])


def test_token_request_that_is_not_a_form_or_repeats_a_parameter_is_invalid() -> None:
    with SimulatorRig(OAUTH_SPEC) as rig, open_client(rig) as agent:
        twice = agent.post("/token", data={"client_secret": "x"}, auth=httpx.BasicAuth("box", rig.token))
        as_json = agent.post("/token", json={"grant_type": "client_credentials"})
        again = agent.post(
            "/token", content=b"scope=a&scope=b", headers={"content-type": "application/x-www-form-urlencoded"}
        )
        for reply in (twice, as_json, again):
            assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")


# Signatures.


class SignatureAuth(httpx.Auth):
    """Signs requests with the key and headers of the connection info."""

    requires_request_body = True

    def __init__(self, rig: SimulatorRig, path: str) -> None:
        self._rig, self._path = rig, path

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        info, timestamp = get_connection_info(self._rig, "signature"), f"{self._rig.playground.now.timestamp():.0f}"
        query = QueryParams(tuple(request.url.params.multi_items()))
        signed = Request(request.method, self._path, query, {}, request.content)
        request.headers[info["timestamp_header"]] = timestamp
        request.headers[info["signature_header"]] = SIGNED.sign(signed, timestamp, info["key"])
        yield request


def test_a_signed_request_is_accepted_once() -> None:
    with SimulatorRig(SIGNED_SPEC) as rig, open_client(rig) as agent:
        reply = agent.post("/notes", json={"text": "hello"}, auth=SignatureAuth(rig, "/notes"))
        assert reply.status_code == 201
        replayed = agent.send(reply.request)
        assert replayed.status_code == 401
        assert "the signature was used before" in replayed.headers["www-authenticate"]
        rig.playground.advance(timedelta(seconds=2))
        assert agent.get("/notes", auth=SignatureAuth(rig, "/notes")).json() == ["hello"]


@pytest.mark.parametrize("changed", ["method", "path", "query", "body", "time"])
def test_signature_of_another_request_is_refused(changed: str) -> None:
    with SimulatorRig(SIGNED_SPEC) as rig:
        made_for = Request("GET", "/notes", {"a": "1"})
        headers = dict(rig.authorize(made_for))
        parts = {"method": "GET", "path": "/notes", "query": {"a": "1"}, "body": b""}
        other = {"method": "POST", "path": "/about/x", "query": {"a": "2"}, "body": b"x"}
        if changed == "time":
            headers["x-timestamp"] = str(float(headers["x-timestamp"]) + 1)
        else:
            parts[changed] = other[changed]
        assert rig.send(Request(**parts, headers=headers), token="").status == 401  # type: ignore[arg-type]
        assert rig.lines == []


@pytest.mark.parametrize("minutes", [-6, 6])
def test_signature_with_a_timestamp_too_far_from_now_is_refused(minutes: int) -> None:
    with SimulatorRig(SIGNED_SPEC) as rig:
        request, now = Request("GET", "/notes"), rig.playground.now
        timestamp = f"{(now + timedelta(minutes=minutes)).timestamp():.0f}"
        headers = {"x-timestamp": timestamp, "x-signature": SIGNED.sign(request, timestamp, rig.token)}
        reply = rig.send(Request("GET", "/notes", {}, headers), token="")
        assert "more than 300 s from the simulated time" in reply.headers["WWW-Authenticate"]


@pytest.mark.parametrize("timestamp", ["", "now", "-1", "1e400", "99999999999", "nan"])
def test_malformed_timestamp_is_refused(timestamp: str) -> None:
    with SimulatorRig(SIGNED_SPEC) as rig:
        headers = {"x-timestamp": timestamp, "x-signature": "0" * 64}
        assert rig.send(Request("GET", "/notes", {}, headers), token="").status == 401


def test_canonical_string_has_the_documented_five_lines() -> None:
    request = Request("get", "/a b/ü", QueryParams((("z", "1"), ("a", "x/y"), ("a", "b c"))), {}, b"hello")
    assert canonical_string(request, "1767225600.5").split("\n") == [
        "GET",
        "/a%20b/%C3%BC",
        "a=b%20c&a=x%2Fy&z=1",
        "1767225600.5",
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    ]


# Several schemes, the clock, open operations.


def test_any_of_several_schemes_is_accepted_and_a_refusal_challenges_for_all() -> None:
    with SimulatorRig(SEVERAL_SPEC) as rig, open_client(rig) as agent:
        info = get_connection_info(rig, "oauth2")
        assert agent.get("/notes", headers={"Authorization": f"Bearer {rig.token}"}).status_code == 200
        assert agent.get("/notes", auth=httpx.BasicAuth("AC0001", rig.token)).status_code == 200
        assert agent.get("/notes", auth=ClientCredentialsAuth(info, in_form=True)).status_code == 200
        challenge = agent.get("/notes").headers["www-authenticate"]
        assert challenge == 'Bearer realm="clerkship", Basic realm="clerkship", charset="UTF-8"'


def test_clock_accepts_the_sandbox_token_with_any_scheme() -> None:
    with SimulatorRig(SIGNED_SPEC) as rig:
        url = f"{rig.url().rpartition('/')[0]}/clock"
        assert httpx.get(url, headers={"Authorization": f"Bearer {rig.token}"}).status_code == 200
        assert httpx.get(url).status_code == 401


def test_open_operation_without_a_credential_is_answered_but_not_logged() -> None:
    with SimulatorRig(BASIC_SPEC) as rig, open_client(rig) as agent:
        before = rig.playground.now
        for _ in range(3):
            assert agent.get("/about").json() == {"name": "locked"}
        assert agent.head("/about").status_code == 200
        assert (rig.lines, rig.playground.now) == ([], before)
        listed = rig.playground.sidecar.unauthenticated
        assert (listed.count, listed.requests[0]["reason"]) == (4, "answered without a credential")
        assert agent.get("/about", auth=httpx.BasicAuth("AC0001", rig.token)).status_code == 200
        assert list_event_kinds(rig) == ["locked.about.read"]


def test_expired_fault_challenges_with_the_scheme_of_the_simulator() -> None:
    with SimulatorRig(BASIC_SPEC) as rig:
        rig.playground.inject(ExpiredFault(times=1))
        reply = rig.send(Request("GET", "/notes"))
        assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, 'Basic realm="clerkship", charset="UTF-8"')


def test_request_without_a_credential_does_not_use_up_a_fault() -> None:
    with SimulatorRig(BASIC_SPEC) as rig:
        rig.playground.inject(ErrorFault(times=1))
        assert rig.send_http(Request("GET", "/about"), {}).status == 200
        assert [request[2] for request in rig.playground.sidecar.requests] == [""]
        assert rig.send_http(Request("GET", "/about")).status == 503


# Secrets.


def test_missing_secret_matches_nothing() -> None:
    assert secrets_match("a", "a")
    assert not secrets_match("a", "b")
    assert not secrets_match(None, "")


def test_secret_table_finds_only_the_whole_secret() -> None:
    table = SecretTable[int]()
    table.add("secret", 1)
    assert (table.get("secret"), table.get("secre"), table.get("")) == (1, None, None)
    assert (table.pop("secret"), table.pop("secret"), len(table)) == (1, None, 0)


def test_sessions_and_used_signatures_are_bounded() -> None:
    with SimulatorRig(BASIC_SPEC) as rig:
        now = rig.playground.now
    credentials = SandboxCredentials("box", NoConfig())
    first = credentials.issue("clk_ses", now)
    for _ in range(MAX_ISSUED):
        credentials.issue("clk_ses", now)
    assert credentials.get_expiry(first) is None
    for number in range(3 * PURGE_FROM):
        at = now + timedelta(seconds=number)
        assert credentials.use_once(str(number), at, at - timedelta(seconds=10))
    assert len(credentials._used) < PURGE_FROM + 20


# Connection info of agents.


def open_handles(rig: SimulatorRig) -> Sandboxes:
    base = rig.url().rpartition(f"/{rig.playground.id}/")[0]
    return open_sandboxes(rig.gateway, rig.playground, lambda: base)


def test_agent_gets_the_credentials_of_each_scheme_besides_the_token() -> None:
    with SimulatorRig(SEVERAL_SPEC) as rig:
        sandboxes = open_handles(rig)
        expected = {
            "basic": {"user": "AC0001", "password": rig.token},
            "oauth2": {"client_id": "box", "client_secret": rig.token, "token_url": f"{rig.url()}/token"},
        }
        assert sandboxes["box"].credentials == expected
        place = describe_sandboxes(sandboxes)["sandboxes"]["box"]
        assert place == {"kind": "locked", "url": rig.url(), "token": rig.token, **expected}
        answer = AgentRequests().answer({"request": "credentials", "sandbox": "box", "number": 1}, sandboxes)
        assert orjson.loads(answer)["value"] == expected


def test_agent_gets_only_url_and_token_for_a_bearer_token() -> None:
    with SimulatorRig(build_locked_spec()) as rig:
        [place] = describe_sandboxes(open_handles(rig))["sandboxes"].values()
        assert place.keys() == {"kind", "url", "token"}


def test_in_process_handle_needs_no_credential() -> None:
    with SimulatorRig(SIGNED_SPEC) as rig:
        box = open_handles(rig)["box"]
        assert box.request("POST", "/notes", body=b'{"text": "hello"}').status == 201
        assert orjson.loads(box.request("GET", "/notes").body) == ["hello"]


@pytest.mark.parametrize("name", SPECS)
def test_the_command_line_shows_what_each_scheme_needs(name: str) -> None:
    with SimulatorRig(SPECS[name]) as rig:
        base = rig.url().rpartition("/")[0]
        [way] = _build_accesses(rig.playground, base, ListenerPool(rig.gateway)).values()
        assert way.credentials == rig.playground.sandboxes["box"].authentication_info(rig.url())
        console = out()
        with console.capture() as captured:
            _print_access(console, "box", way)
        shown = captured.get()
        for info in way.credentials.values():
            assert all(f"{key} {value}" in shown for key, value in info.items())
        assert ("curl" in shown) == (name in ("basic", "several"))
