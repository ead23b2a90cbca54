"""Refusals of requests without a valid credential (RFC 9110 §15.5.2)."""

from collections.abc import Callable, Sequence

from clerkship.kit.clock import Clock
from clerkship.sandbox.authentication.credentials import SandboxCredentials
from clerkship.sandbox.authentication.scheme import AuthenticationScheme, HttpScheme
from clerkship.sandbox.exchange import Refusal, Request

WRONG_LOGIN = "the user or the password is wrong"


def refuse_credential(
    schemes: Sequence[AuthenticationScheme], request: Request, credentials: SandboxCredentials, clock: Clock
) -> Refusal:
    """Return the refusal of a request, with a challenge of each scheme that says why its credential is not valid."""
    return _unauthorized("unauthorized", schemes, lambda scheme: scheme.explain(request, credentials, clock))


def refuse_expired(schemes: Sequence[AuthenticationScheme], reason: str) -> Refusal:
    """Return the refusal of any request, whatever its credential."""
    return _unauthorized("expired", schemes, lambda scheme: reason, reason)


def refuse_unknown(schemes: Sequence[AuthenticationScheme]) -> Refusal:
    """Return the refusal of a request, with a challenge of each scheme."""
    return _unauthorized("unauthorized", schemes, lambda scheme: "")


def _unauthorized(
    code: str, schemes: Sequence[AuthenticationScheme], explain: Callable[[HttpScheme], str], reason: str = ""
) -> Refusal:
    asked = [scheme for scheme in schemes if isinstance(scheme, HttpScheme)]
    credential = " or the ".join(scheme.credential for scheme in asked)
    challenge = ", ".join(dict.fromkeys(scheme.challenge(explain(scheme)) for scheme in asked))
    reason = reason or f"the {credential} is missing, wrong, or another sandbox's"
    return Refusal(401, code, reason, {"WWW-Authenticate": challenge})
