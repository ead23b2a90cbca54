"""A client of SMART backend services, and a FHIR server at which it is registered."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson
from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.formats.fhir.chart import Chart
from clerkship.formats.fhir.resource import render_resource
from clerkship.playground.sandbox import PreparedSimulator, Sandbox
from clerkship.sandbox.authentication.client_assertion import ASSERTION_TYPE
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.route import HttpCall
from clerkship.simulators.fhir import SPEC
from tests.simulators.fhir.server import BASE, CHART

CLIENT_ID = "nightly"
TOKEN_URL = f"{BASE}/auth/token"
FORM = {"content-type": "application/x-www-form-urlencoded"}
FHIR = {"content-type": "application/fhir+json"}
_CURVES = {"ES384": "P-384", "ES256": "P-256"}


@cache
def make_key(algorithm: str, kid: str = "k1") -> Any:
    """Return a key pair, made once."""
    options: Any = {"kid": kid}
    if algorithm in _CURVES:
        return ECKey.generate_key(_CURVES[algorithm], options)
    return RSAKey.generate_key(2048, options)


class BackendRig:
    """A FHIR server with a small chart over HTTP or in process, and one registered client with its own key."""

    def __init__(self, *scopes: str, algorithm: str = "ES384", resources: Sequence[Any] = CHART, **config: Any) -> None:
        self.algorithm = algorithm
        self.key = make_key(algorithm)
        jwks = {"keys": [self.key.as_dict(private=False)]}
        client = {"client_id": CLIENT_ID, "scopes": scopes or ("system/*.cruds",), "jwks": jwks}
        settings = SPEC.config(**{"clients": [client], **config})
        chart = Chart(render_resource(resource) for resource in resources)
        self.spec = replace(SPEC, prepare=lambda datasets: chart)
        self.rig = SimulatorRig(self.spec, prepared=PreparedSimulator(self.spec, settings, chart))
        self._jti = 0

    @property
    def sandbox(self) -> Sandbox:
        return self.rig.playground.sandboxes[self.rig.name]

    def sign(self, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Return a client assertion with these claims changed; None removes one."""
        self._jti += 1
        now = int(self.sandbox.credentials.wall_now().timestamp())
        usual = {"iss": CLIENT_ID, "sub": CLIENT_ID, "aud": TOKEN_URL, "exp": now + 300, "jti": f"j{self._jti}"}
        merged = {name: value for name, value in (usual | claims).items() if value is not None}
        head = {"alg": self.algorithm, "kid": "k1", "typ": "JWT", **(header or {})}
        return jwt.encode(head, merged, self.key, algorithms=[str(head["alg"])])

    def request_token(self, scope: str = "system/*.rs", **form: str) -> Reply:
        """Send a token request with these parameters changed; an empty one is left out."""
        usual = {
            "grant_type": "client_credentials",
            "scope": scope,
            "client_assertion_type": ASSERTION_TYPE,
            "client_assertion": form.get("client_assertion") or ("" if "client_assertion" in form else self.sign()),
        }
        pairs = [(name, value) for name, value in (usual | form).items() if value]
        request = Request("POST", "/auth/token", {}, FORM, urlencode(pairs).encode())
        return self.rig.call(HttpCall(request, BASE), token="")

    def get_token(self, scope: str) -> str:
        """Return a new access token."""
        reply = self.request_token(scope)
        assert reply.status == 200, reply.body
        token: str = orjson.loads(reply.body)["access_token"]
        return token

    def send(self, token: str, method: str, target: str, body: Any = None, **headers: str) -> Reply:
        """Send a request with an access token."""
        path, _, query = target.partition("?")
        pairs = dict(parse_qsl(query))
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        data = b"" if body is None else orjson.dumps(body)
        all_headers = {**(FHIR if data else {}), **told, "authorization": f"Bearer {token}"}
        return self.rig.send(Request(method, f"/{path}", pairs, all_headers, data), token="")
