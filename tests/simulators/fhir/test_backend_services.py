"""SMART backend services: discovery, the token endpoint, and scopes on every interaction."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest
from joserfc.jwk import ECKey
from pydantic import ValidationError

from clerkship.sandbox.authentication.backend_services import BackendClient
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.fhir.config import FhirConfig
from tests.simulators.fhir.backend_client import CLIENT_ID, TOKEN_URL, BackendRig, make_key
from tests.simulators.fhir.server import Server, bundle, entry

NEW: dict[str, Any] = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}}


@pytest.fixture
def backend() -> Iterator[BackendRig]:
    client = BackendRig()
    with client.rig:
        yield client


def read_error(reply: Reply) -> tuple[int, str]:
    """Return status and code of an OAuth error."""
    return reply.status, orjson.loads(reply.body)["error"]


def test_discovery_names_the_token_endpoint(backend: BackendRig) -> None:
    document = orjson.loads(backend.rig.send(Request("GET", "/.well-known/smart-configuration"), token="").body)
    assert document["token_endpoint"] == TOKEN_URL
    assert document["grant_types_supported"] == ["client_credentials"]
    assert document["token_endpoint_auth_methods_supported"] == ["private_key_jwt"]
    assert document["token_endpoint_auth_signing_alg_values_supported"] == ["RS384", "ES384"]
    assert {"client-confidential-asymmetric", "permission-v1", "permission-v2"} <= set(document["capabilities"])
    [rest] = orjson.loads(backend.rig.send(Request("GET", "/metadata"), token="").body)["rest"]
    [oauth] = rest["security"]["extension"]
    assert oauth["extension"] == [{"url": "token", "valueUri": TOKEN_URL}]
    assert rest["security"]["service"][0]["coding"][0]["code"] == "SMART-on-FHIR"


def test_without_clients_nothing_is_advertised_and_no_token_is_issued() -> None:
    server = Server()
    document = orjson.loads(server.rig.send(Request("GET", "/.well-known/smart-configuration")).body)
    assert "token_endpoint" not in document
    assert "extension" not in server.get("metadata").json["rest"][0]["security"]
    assert server.rig.playground.sandboxes["box"].authentication_info("http://x") == {}


@pytest.mark.parametrize("algorithm", ["ES384", "RS384"])
def test_an_assertion_gets_a_token_with_the_requested_scopes(algorithm: str) -> None:
    backend = BackendRig(algorithm=algorithm)
    with backend.rig:
        reply = backend.request_token("system/Patient.read system/Observation.s")
        answer = orjson.loads(reply.body)
        assert (reply.status, reply.headers["Cache-Control"]) == (200, "no-store")
        assert (answer["token_type"], answer["expires_in"]) == ("bearer", 300)
        assert answer["scope"] == "system/Patient.read system/Observation.s"
        assert backend.send(answer["access_token"], "GET", "Patient/ada").status == 200
        log = b"".join(backend.rig.lines).decode()
        assert answer["access_token"] not in log
        assert "eyJ" not in log
        [issued, read] = backend.rig.playground.log.events
        assert (issued.kind, issued.payload.model_dump()["client_id"]) == ("fhir.token.issued", CLIENT_ID)
        assert read.request is not None
        assert read.request.scope == "system/Patient.read system/Observation.s"


@pytest.mark.parametrize(
    ("registered", "requested", "granted"),
    [
        ("system/*.rs", "system/*.cruds", "system/*.rs"),
        ("system/Patient.read system/Task.cud", "system/*.*", "system/Patient.rs system/Task.cud"),
        ("system/*.read", "system/Patient.read system/Patient.write", "system/Patient.read"),
        ("system/*.rs", "system/Patient.write", ""),
        ("system/Patient.rs", "system/Task.rs", ""),
    ],
)
def test_no_more_is_granted_than_is_registered(registered: str, requested: str, granted: str) -> None:
    backend = BackendRig(*registered.split())
    with backend.rig:
        reply = backend.request_token(requested)
        if granted:
            assert orjson.loads(reply.body)["scope"] == granted
        else:
            assert read_error(reply) == (400, "invalid_scope")


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "another", "sub": "another"},
        {"sub": "another"},
        {"aud": "http://box.invalid"},
        {"exp": 1},
        {"exp": 99_999_999_999},
        {"exp": "soon"},
        {"jti": None},
        {"sub": None},
        {"iat": 99_999_999_999},
    ],
    ids=repr,
)
def test_a_wrong_claim_is_refused_as_an_invalid_client(backend: BackendRig, claims: dict[str, Any]) -> None:
    reply = backend.request_token(client_assertion=backend.sign(**claims))
    assert read_error(reply) == (401, "invalid_client")
    assert "WWW-Authenticate" in reply.headers


def test_an_assertion_works_once(backend: BackendRig) -> None:
    assertion = backend.sign()
    assert backend.request_token(client_assertion=assertion).status == 200
    assert read_error(backend.request_token(client_assertion=assertion)) == (401, "invalid_client")
    assert backend.request_token(client_assertion=backend.sign(iat=1)).status == 200


def test_assertions_that_no_registered_key_has_signed_leave_no_trace(backend: BackendRig) -> None:
    good = backend.sign()
    header = backend.sign({"kid": "other"})
    backend.key = make_key("ES384", "k2")
    for assertion in (good[:-4] + "AAAA", header, backend.sign(), "x", "a.b.c", f"{good}.x"):
        assert read_error(backend.request_token(client_assertion=assertion)) == (401, "invalid_client")
    backend.key, backend.algorithm = make_key("ES256"), "ES256"
    assert read_error(backend.request_token()) == (401, "invalid_client")
    assert backend.rig.lines == []


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "authorization_code"}, "unsupported_grant_type"),
        ({"grant_type": "password", "client_assertion": ""}, "unsupported_grant_type"),
        ({"grant_type": ""}, "invalid_request"),
        ({"client_assertion": ""}, "invalid_request"),
        ({"client_assertion_type": "jwt"}, "invalid_request"),
        ({"scope": ""}, "invalid_scope"),
        ({"scope": "patient/*.rs"}, "invalid_scope"),
        ({"scope": "system/*.rs launch"}, "invalid_scope"),
        ({"scope": "system/Patient.sr"}, "invalid_scope"),
        ({"scope": "system/Observation.rs?category=laboratory"}, "invalid_scope"),
    ],
    ids=repr,
)
def test_a_wrong_request_is_refused_in_the_words_of_oauth(
    backend: BackendRig, form: dict[str, str], error: str
) -> None:
    assert read_error(backend.request_token(**form)) == (400, error)


def test_a_client_id_in_the_form_must_be_that_of_the_assertion(backend: BackendRig) -> None:
    assert read_error(backend.request_token(client_id="another")) == (401, "invalid_client")
    assert backend.request_token(client_id=CLIENT_ID).status == 200


def test_a_token_expires_in_simulated_time(backend: BackendRig) -> None:
    token = backend.get_token("system/*.rs")
    now = backend.sandbox.credentials.wall_now()
    backend.sandbox.credentials.wall_now = lambda: now + timedelta(days=1)
    assert backend.send(token, "GET", "Patient/ada").status == 200
    backend.rig.playground.advance(timedelta(minutes=5))
    reply = backend.send(token, "GET", "Patient/ada")
    assert reply.status == 401
    assert (
        'error="invalid_token", error_description="the access token has expired"' in reply.headers["WWW-Authenticate"]
    )
    assert orjson.loads(reply.body)["resourceType"] == "OperationOutcome"


@pytest.mark.parametrize(
    ("method", "target", "body", "needed"),
    [
        ("GET", "Patient/ada", None, "r"),
        ("GET", "Patient/ada/_history/1", None, "r"),
        ("GET", "Patient/ada/_history", None, "r"),
        ("GET", "Patient?name=ada", None, "s"),
        ("GET", "Patient/_history", None, "s"),
        ("POST", "Patient", {"resourceType": "Patient"}, "c"),
        ("POST", "Patient/$validate", {"resourceType": "Patient"}, "c"),
        ("PUT", "Patient/ada", {"resourceType": "Patient", "id": "ada"}, "u"),
        ("PATCH", "Patient/ada", [{"op": "add", "path": "/active", "value": True}], "u"),
        ("DELETE", "Patient/ben", None, "d"),
    ],
)
def test_each_interaction_needs_its_permission(
    backend: BackendRig, method: str, target: str, body: Any, needed: str
) -> None:
    headers = {"content_type": "application/json-patch+json"} if method == "PATCH" else {}
    others = "".join(letter for letter in "cruds" if letter != needed)
    for scope in (f"system/Patient.{others}", f"system/Observation.{needed}"):
        reply = backend.send(backend.get_token(scope), method, target, body, **headers)
        assert reply.status == 403, scope
        assert f'error="insufficient_scope", scope="{scope}"' in reply.headers["WWW-Authenticate"]
        assert orjson.loads(reply.body)["resourceType"] == "OperationOutcome"
    reply = backend.send(backend.get_token(f"system/Patient.{needed}"), method, target, body, **headers)
    assert reply.status in (200, 201, 204)


def test_a_condition_needs_the_permission_to_search(backend: BackendRig) -> None:
    condition = {"if_none_exist": "identifier=A-1"}
    new = {"resourceType": "Patient"}
    assert backend.send(backend.get_token("system/Patient.c"), "POST", "Patient", new, **condition).status == 403
    assert backend.send(backend.get_token("system/Patient.cs"), "POST", "Patient", new, **condition).status == 200
    assert backend.send(backend.get_token("system/Patient.d"), "DELETE", "Patient?identifier=B-2").status == 403
    assert backend.send(backend.get_token("system/Patient.ds"), "DELETE", "Patient?identifier=B-2").status == 204


def test_system_wide_requests_need_a_scope_for_all_types(backend: BackendRig) -> None:
    wide, narrow = backend.get_token("system/*.rs"), backend.get_token("system/Patient.rs")
    for target in ("_history", "?_lastUpdated=ge2026"):
        assert backend.send(wide, "GET", target).status == 200
        assert backend.send(narrow, "GET", target).status == 403


def test_chains_need_a_scope_for_each_type_that_they_search(backend: BackendRig) -> None:
    both = backend.get_token("system/Patient.s system/Observation.s")
    one = backend.get_token("system/Observation.s")
    assert backend.send(both, "GET", "Observation?subject:Patient.name=okafor").status == 200
    assert backend.send(one, "GET", "Observation?subject:Patient.name=okafor").status == 403
    patient = backend.get_token("system/Patient.s")
    assert backend.send(both, "GET", "Patient?_has:Observation:subject:code=2823-3").status == 200
    assert backend.send(patient, "GET", "Patient?_has:Observation:subject:code=2823-3").status == 403


def test_everything_and_includes_leave_out_what_the_scopes_do_not_cover(backend: BackendRig) -> None:
    token = backend.get_token("system/Observation.rs")
    for target in ("Patient/ada/$everything", "Observation?_include=*"):
        found = orjson.loads(backend.send(token, "GET", target).body)["entry"]
        assert {each["resource"]["resourceType"] for each in found} == {"Observation"}


def test_entries_of_a_batch_are_checked_one_by_one_and_a_transaction_as_a_whole(backend: BackendRig) -> None:
    entries = [entry("GET", "Patient/ada"), entry("POST", "Observation", NEW), entry("DELETE", "Patient/ben")]
    token = backend.get_token("system/Patient.r system/Observation.c")
    answer = orjson.loads(backend.send(token, "POST", "", bundle("batch", *entries)).body)
    assert [each["response"]["status"][:3] for each in answer["entry"]] == ["200", "201", "403"]
    before = len(backend.rig.lines)
    assert backend.send(token, "POST", "", bundle("transaction", *entries)).status == 403
    assert [event.kind for event in backend.rig.playground.log.events[before:]] == ["sandbox.refused"]
    assert backend.send(token, "POST", "", bundle("transaction", *entries[:2])).status == 200


def test_a_missing_resource_is_not_found_as_without_scopes(backend: BackendRig) -> None:
    token = backend.get_token("system/Patient.r")
    assert backend.send(token, "GET", "Patient/nobody").status == 404
    assert backend.send(token, "GET", "Observation/nobody").status == 403


def test_an_agent_without_keys_of_its_own_gets_a_private_key_that_is_redacted() -> None:
    backend = BackendRig(clients=[{"client_id": "agent"}])
    with backend.rig:
        info = backend.sandbox.authentication_info("http://box.invalid")["smart"]
        assert (info["client_id"], info["scope"], info["token_url"]) == ("agent", "system/*.rs", TOKEN_URL)
        backend.key = ECKey.import_key(str(info["private_key"]))
        assertion = backend.sign({"kid": info["kid"]}, iss="agent", sub="agent")
        token = orjson.loads(backend.request_token(client_assertion=assertion).body)["access_token"]
        leaked = [str(info["private_key"]), backend.key.as_dict(private=True)["d"]]
        for text in leaked:
            note = NEW | {"note": [{"text": text}]}
            backend.send(token, "POST", "Observation", note)
        log = b"".join(backend.rig.lines).decode()
        lines = str(info["private_key"]).splitlines()[1:-1]
        assert not [line for line in [*lines, leaked[1]] if line in log]


def test_clients_are_checked_when_the_environment_is_loaded() -> None:
    private = {"keys": [make_key("ES384").as_dict(private=True)]}
    for wrong in (
        {"client_id": ""},
        {"client_id": "a", "scopes": ["patient/*.rs"]},
        {"client_id": "a", "scopes": ["system/*.sr"]},
        {"client_id": "a", "scopes": []},
        {"client_id": "a", "jwks": {"keys": []}},
        {"client_id": "a", "jwks": private},
    ):
        with pytest.raises(ValidationError):
            BackendClient.model_validate(wrong)
    for clients in ([{"client_id": "a"}, {"client_id": "b"}], [{"client_id": "a"}] * 2):
        with pytest.raises(ValidationError):
            FhirConfig.model_validate({"clients": clients})
