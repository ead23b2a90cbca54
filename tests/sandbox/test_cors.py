"""CORS: what web pages may read, over HTTP and in process."""

import httpx
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.cors import CorsPolicy
from clerkship.sandbox.request import Reply, Request
from tests.sandbox.locked_simulators import SESSION, build_locked_spec

PAGE = "https://app.example"
ANY = build_locked_spec(BearerToken(), cors=CorsPolicy(expose=("ETag", "Location")))
LISTED = build_locked_spec(BearerToken(), cors=CorsPolicy(origins=(PAGE,), credentials=True))
OFF = build_locked_spec(BearerToken())
PREFLIGHT = {
    "origin": PAGE,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type",
}


def get_allowed_origin(reply: Reply) -> str | None:
    return {name.lower(): value for name, value in reply.headers.items()}.get("access-control-allow-origin")


def test_a_preflight_request_is_answered_without_a_credential_and_is_not_logged() -> None:
    with SimulatorRig(ANY) as rig:
        before = rig.playground.now
        reply = httpx.options(f"{rig.url()}/notes", headers=PREFLIGHT)
        assert reply.status_code == 204
        assert reply.headers["access-control-allow-origin"] == "*"
        assert reply.headers["access-control-allow-methods"] == "GET, HEAD, POST"
        assert reply.headers["access-control-allow-headers"] == "authorization, content-type"
        assert reply.headers["access-control-max-age"] == "600"
        assert reply.headers["vary"].startswith("Origin")
        assert "access-control-allow-credentials" not in reply.headers
        assert (rig.lines, rig.playground.now) == ([], before)


def test_replies_and_refusals_have_cors_headers() -> None:
    with SimulatorRig(ANY) as rig:
        headers = {"origin": PAGE, "authorization": f"Bearer {rig.token}"}
        answered = httpx.get(f"{rig.url()}/notes", headers=headers)
        assert answered.headers["access-control-allow-origin"] == "*"
        assert answered.headers["access-control-expose-headers"] == "ETag, Location"
        assert answered.headers["vary"] == "Origin"
        for path in ("/notes", "/nowhere", "/about"):
            assert get_allowed_origin(rig.send_http(Request("GET", path), {"origin": PAGE})) == "*"
        rig.playground.close()
        assert get_allowed_origin(rig.send_http(Request("GET", "/notes"), headers)) == "*"
        assert get_allowed_origin(rig.send_http(Request("GET", "/notes"), {})) is None


def test_only_listed_origins_are_allowed_and_echoed() -> None:
    with SimulatorRig(LISTED) as rig:
        reply = httpx.options(f"{rig.url()}/notes", headers=PREFLIGHT)
        assert reply.headers["access-control-allow-origin"] == PAGE
        assert reply.headers["access-control-allow-credentials"] == "true"
        other = {**PREFLIGHT, "origin": "https://evil.example"}
        refused = rig.send_http(Request("OPTIONS", "/notes"), other)
        assert (refused.status, get_allowed_origin(refused)) == (401, None)
        assert get_allowed_origin(rig.send_http(Request("GET", "/about"), {"origin": "null"})) is None


def test_without_a_policy_there_are_no_cors_headers() -> None:
    with SimulatorRig(OFF) as rig:
        assert rig.send_http(Request("OPTIONS", "/notes"), PREFLIGHT).status == 401
        assert get_allowed_origin(rig.send_http(Request("GET", "/about"), {"origin": PAGE})) is None


def test_options_request_that_is_not_a_preflight_needs_a_credential() -> None:
    with SimulatorRig(ANY) as rig:
        assert rig.send_http(Request("OPTIONS", "/notes"), {"origin": PAGE}).status == 401
        assert rig.send(Request("OPTIONS", "/notes", {}, {"origin": PAGE})).status == 405


def test_malformed_requested_header_names_are_not_echoed() -> None:
    with SimulatorRig(ANY) as rig:
        headers = {**PREFLIGHT, "access-control-request-headers": 'x"y<script>'}
        reply = httpx.options(f"{rig.url()}/notes", headers=headers)
        assert (reply.status_code, "access-control-allow-headers" in reply.headers) == (204, False)


def test_policy_with_credentials_requires_listed_origins() -> None:
    with pytest.raises(ValueError, match="CORS with credentials needs a list of origins"):
        CorsPolicy(credentials=True)
    assert build_locked_spec(SESSION, cors=CorsPolicy(origins=(PAGE,), credentials=True)).cors is not None
