"""JWTs with which the agent, as an EHR, identifies itself to CDS services that require them."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey
from pydantic import ValidationError

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.direct_call import DirectCall
from clerkship.sandbox.request import Reply, Request
from clerkship.simulators.cds_service import SPEC
from clerkship.simulators.cds_service.config import CdsServiceConfig
from clerkship.simulators.cds_service.operations import call_service
from tests.simulators.cds_service.calls import PATH, build_call

ISSUER = "https://ehr.example"
KEY = ECKey.generate_key("P-384", {"kid": "k1"})
JWKS = {"keys": [KEY.as_dict(private=False)]}
CALL = build_call("ibuprofen", "warfarin")


def open_rig(**config: Any) -> SimulatorRig:
    return SimulatorRig(SPEC, prepared=PreparedSimulator(SPEC, CdsServiceConfig(**config), SPEC.prepare(())))


@pytest.fixture
def rig() -> Iterator[SimulatorRig]:
    """A rig whose services require a JWT, and know the keys of the agent."""
    with open_rig(require_jwt=True) as rig:
        reply = rig.send_http(Request("POST", "/clients", body=orjson.dumps({"issuer": ISSUER, "jwks": JWKS})))
        assert orjson.loads(reply.body) == {"issuer": ISSUER, "keys": 1}
        yield rig


def build_claims(rig: SimulatorRig, **changes: Any) -> dict[str, Any]:
    """Return valid claims with some changes; a claim that is None is left out."""
    now = int(datetime.now(UTC).timestamp())
    claims = {"iss": ISSUER, "aud": f"{rig.url()}{PATH}", "iat": now, "exp": now + 60, "jti": "call-1"} | changes
    return {name: value for name, value in claims.items() if value is not None}


def sign(rig: SimulatorRig, key: Any = KEY, algorithm: str = "ES384", **changes: Any) -> str:
    header = {"alg": algorithm, "kid": "k1", "typ": "JWT"}
    return jwt.encode(header, build_claims(rig, **changes), key, algorithms=[algorithm])


def post(rig: SimulatorRig, token: str, path: str = PATH, data: Any = CALL) -> Reply:
    return rig.send_http(Request("POST", path, body=orjson.dumps(data)), {"authorization": f"Bearer {token}"})


def encode_part(data: Any) -> str:
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else orjson.dumps(data)).decode().rstrip("=")


def build_unsigned(rig: SimulatorRig, algorithm: str) -> str:
    return f"{encode_part({'alg': algorithm, 'kid': 'k1'})}.{encode_part(build_claims(rig))}."


def build_confused(rig: SimulatorRig, secret: bytes) -> str:
    """Return a token signed by HMAC with what everyone knows, the public key."""
    signed = f"{encode_part({'alg': 'HS256', 'kid': 'k1'})}.{encode_part(build_claims(rig))}"
    return f"{signed}.{encode_part(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


def find_header(reply: Reply, name: str) -> str:
    return next((value for key, value in reply.headers.items() if key.lower() == name), "")


def get_refusals(rig: SimulatorRig) -> list[Mapping[str, Any]]:
    events = [event.payload.model_dump() for event in rig.playground.log.events if event.kind == "sandbox.refused"]
    return list(events)


def test_a_valid_jwt_is_accepted_and_its_issuer_recorded(rig: SimulatorRig) -> None:
    reply = post(rig, sign(rig))
    assert reply.status == 200
    assert len(orjson.loads(reply.body)["cards"]) == 1
    assert rig.dump()["calls"]["in_order"][0]["called"]["client"] == ISSUER


def test_an_rsa_key_is_accepted_too() -> None:
    key = RSAKey.generate_key(2048, {"kid": "k1"})
    clients = [{"issuer": ISSUER, "jwks": {"keys": [key.as_dict(private=False)]}}]
    with open_rig(require_jwt=True, clients=clients) as rig:
        assert post(rig, sign(rig, key, "RS384")).status == 200


CLAIMS: list[tuple[dict[str, Any], str]] = [
    ({"exp": 1_600_000_000, "iat": 1_599_999_990}, "expired"),
    ({"aud": "https://other.example/cds-services/order-safety"}, "another audience"),
    ({"exp": 4_000_000_000}, "more than five minutes"),
    ({"iat": 4_000_000_000, "exp": 4_000_000_010}, "in the future"),
    ({"jti": None}, "no jti"),
    ({"aud": None}, "no aud"),
    ({"exp": None}, "no exp"),
    ({"exp": "soon"}, "numbers of seconds"),
]


@pytest.mark.parametrize(("changes", "reason"), CLAIMS, ids=[reason for _, reason in CLAIMS])
def test_wrong_claims_of_a_known_signer_are_refused_with_an_event(
    rig: SimulatorRig, changes: dict[str, Any], reason: str
) -> None:
    reply = post(rig, sign(rig, **changes))
    assert reply.status == 401
    assert 'error="invalid_token"' in find_header(reply, "www-authenticate")
    assert reason in find_header(reply, "www-authenticate")
    [refusal] = get_refusals(rig)
    assert (refusal["status"], refusal["code"]) == (401, "invalid_token")
    assert reason in refusal["reason"]
    assert rig.dump()["calls"]["in_order"] == []


def test_a_jwt_is_accepted_once(rig: SimulatorRig) -> None:
    token = sign(rig)
    assert post(rig, token).status == 200
    assert post(rig, token).status == 401
    assert post(rig, sign(rig, exp=int(datetime.now(UTC).timestamp()) + 90)).status == 401, "the jti is the same"
    assert post(rig, sign(rig, jti="call-2")).status == 200
    assert ["used before" in each["reason"] for each in get_refusals(rig)] == [True, True]


FOREIGN: dict[str, Callable[[SimulatorRig], str]] = {
    "another key with the same kid": lambda rig: sign(rig, ECKey.generate_key("P-384", {"kid": "k1"})),
    "another issuer": lambda rig: sign(rig, iss="https://other.example"),
    "alg none": lambda rig: build_unsigned(rig, "none"),
    "no signature": lambda rig: build_unsigned(rig, "ES384"),
    "HS256 with the public key as PEM": lambda rig: build_confused(rig, KEY.as_pem(private=False)),
    "HS256 with the public key as JWK": lambda rig: build_confused(rig, orjson.dumps(JWKS["keys"][0])),
    "HS256 with a secret": lambda rig: sign(rig, OctKey.import_key("secret" * 8), "HS256"),
    "no JSON": lambda rig: "a.b.c",
    "not ASCII": lambda rig: "é.é.é",
    "JSON that is not an object": lambda rig: f"{encode_part([1])}.{encode_part(5)}.x",
    "deep JSON": lambda rig: f"{encode_part(b'[' * 4000)}.{encode_part(b'{}')}.x",
    "too long": lambda rig: f"{sign(rig)}{'A' * 20_000}",
    "no kid": lambda rig: f"{encode_part({'alg': 'ES384'})}.{encode_part(build_claims(rig))}.x",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_jwt_of_an_unknown_signer_is_refused_beside_the_log(rig: SimulatorRig, name: str) -> None:
    before = len(rig.playground.log.events)
    token = FOREIGN[name](rig)
    reply = rig.send(Request("POST", PATH, headers={"authorization": f"Bearer {token}"}, body=b"{}"), token="")
    assert reply.status == 401
    assert 'error="invalid_token"' in find_header(reply, "www-authenticate")
    assert len(rig.playground.log.events) == before
    assert rig.playground.sidecar.unauthenticated.count == 1


def test_the_token_of_the_sandbox_does_not_replace_a_jwt(rig: SimulatorRig) -> None:
    for path in (PATH, f"{PATH}/feedback"):
        reply = rig.send_http(Request("POST", path, body=orjson.dumps(CALL)))
        assert reply.status == 401
        assert "needs a JWT" in get_refusals(rig)[-1]["reason"]
    assert rig.send_http(Request("GET", "/cds-services")).status == 200, "discovery needs no JWT"


def test_a_call_as_a_tool_cannot_claim_a_jwt(rig: SimulatorRig) -> None:
    arguments = {"id": "order-safety", "request": CALL}
    assert rig.call(DirectCall(call_service, arguments)).status == 401
    assert rig.call(DirectCall(call_service, arguments | {"client": ISSUER})).status == 422


def test_feedback_takes_the_url_of_the_service_or_of_feedback_as_audience(rig: SimulatorRig) -> None:
    card = orjson.loads(post(rig, sign(rig)).body)["cards"][0]["uuid"]
    item = {"card": card, "outcome": "overridden", "outcomeTimestamp": "2026-03-02T09:00:00Z"}
    path, body = f"{PATH}/feedback", {"feedback": [item]}
    assert post(rig, sign(rig, jti="f1"), path, body).status == 200
    assert post(rig, sign(rig, jti="f2", aud=f"{rig.url()}{path}"), path, body).status == 200
    assert post(rig, sign(rig, jti="f3", aud=rig.url()), path, body).status == 401


def test_a_jwt_cannot_register_keys(rig: SimulatorRig) -> None:
    reply = post(rig, sign(rig, aud=f"{rig.url()}/clients"), "/clients", {"issuer": "x", "jwks": JWKS})
    assert reply.status == 401
    assert rig.dump()["clients"] == {ISSUER: 1}


def test_new_keys_replace_the_old_ones(rig: SimulatorRig) -> None:
    new = ECKey.generate_key("P-256", {"kid": "k1"})
    body = {"issuer": ISSUER, "jwks": {"keys": [new.as_dict(private=False)]}}
    assert rig.send_http(Request("POST", "/clients", body=orjson.dumps(body))).status == 200
    assert post(rig, sign(rig)).status == 401
    assert post(rig, sign(rig, new, "ES256")).status == 200


@pytest.mark.parametrize(
    "jwks",
    [
        {},
        {"keys": []},
        {"keys": [KEY.as_dict(private=True)]},
        {"keys": [{**KEY.as_dict(private=False), "kid": ""}]},
        {"keys": [KEY.as_dict(private=False)] * 2},
        {"keys": [OctKey.import_key("secret" * 8).as_dict()]},
        "https://ehr.example/jwks.json",
    ],
    ids=["empty", "no keys", "private", "no kid", "same kid", "symmetric", "a URL"],
)
def test_unusable_keys_are_refused_and_not_repeated(rig: SimulatorRig, jwks: Any) -> None:
    reply = rig.send_http(Request("POST", "/clients", body=orjson.dumps({"issuer": "new", "jwks": jwks})))
    assert reply.status == 422
    assert str(KEY.as_dict(private=True)["d"]).encode() not in b"".join(rig.playground.log.lines) + reply.body
    with pytest.raises(ValidationError):
        CdsServiceConfig.model_validate({"clients": [{"issuer": "new", "jwks": jwks}]})


def test_a_jwt_is_never_logged(rig: SimulatorRig) -> None:
    tokens = [sign(rig), sign(rig, exp=1_600_000_000, iat=1_599_999_990)]
    for token in tokens:
        post(rig, token)
    log = b"".join(rig.playground.log.lines)
    assert not any(token.rpartition(".")[2].encode() in log for token in tokens)


def test_a_jwt_expires_in_wall_time(rig: SimulatorRig) -> None:
    token = sign(rig)
    rig.playground.advance(timedelta(days=30))
    assert post(rig, token).status == 200
    credentials = rig.playground.sandboxes[rig.name].credentials
    now = credentials.wall_now()
    credentials.wall_now = lambda: now + timedelta(minutes=10)
    assert post(rig, sign(rig, jti="call-2")).status == 401
