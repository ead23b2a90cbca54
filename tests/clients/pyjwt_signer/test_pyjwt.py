"""JWTs that PyJWT signed are accepted by CDS services, and refused when they should be."""

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from clerkship.checks.conformance.rig import SimulatorRig
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.request import Request
from clerkship.simulators.cds_service import SPEC
from clerkship.simulators.cds_service.config import CdsServiceConfig
from tests.clients.installs import CannotInstall, python_environment
from tests.simulators.cds_service.calls import PATH, build_call

PROGRAMS = Path(__file__).parent / "programs"
MAX_SECONDS = 60


def sign_with_pyjwt(algorithm: str, *claims: dict[str, Any]) -> dict[str, Any]:
    """Return the public keys and the tokens; skip the test if PyJWT cannot be installed."""
    try:
        python = python_environment("pyjwt", PROGRAMS / "pyjwt.txt")
    except CannotInstall as problem:
        pytest.skip(str(problem))
    done = subprocess.run(
        [str(python), str(PROGRAMS / "sign.py")],
        input=json.dumps({"algorithm": algorithm, "claims": claims}),
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    signed: dict[str, Any] = json.loads(done.stdout)
    return signed


@pytest.mark.parametrize("algorithm", ["ES384", "RS384", "ES256", "RS256"])
def test_a_service_accepts_a_jwt_of_pyjwt_once(algorithm: str) -> None:
    config = CdsServiceConfig(require_jwt=True)
    with SimulatorRig(SPEC, prepared=PreparedSimulator(SPEC, config, SPEC.prepare(()))) as rig:
        now = int(datetime.now(UTC).timestamp())
        good = {"iss": "https://ehr.example", "aud": f"{rig.url()}{PATH}", "iat": now, "exp": now + 300, "jti": "1"}
        expired = good | {"iat": now - 900, "exp": now - 600, "jti": "2"}
        elsewhere = good | {"aud": f"{rig.url()}/cds-services/other", "jti": "3"}
        signed = sign_with_pyjwt(algorithm, good, good, expired, elsewhere)
        client = {"issuer": "https://ehr.example", "jwks": signed["jwks"]}
        assert rig.send_http(Request("POST", "/clients", body=orjson.dumps(client))).status == 200
        call = Request("POST", PATH, body=orjson.dumps(build_call("ibuprofen", "warfarin")))
        replies = [rig.send_http(call, {"authorization": f"Bearer {token}"}) for token in signed["tokens"]]
        assert [reply.status for reply in replies] == [200, 401, 401, 401]
