"""`expired`: the sandbox's token stops working."""

from typing import ClassVar

from clerkship.faults.contract import Fault, FaultEffect
from clerkship.sandbox.request import Refusal

REASON = "The access token expired"


class ExpiredFault(Fault):
    """The token has expired: 401 in the protocol's own words, with `WWW-Authenticate: Bearer error="invalid_token"`.
    After `times` requests the same token works again, as if it had been renewed; without `times` it never does. `skip`
    says how many requests it was good for."""

    name: ClassVar[str] = "expired"

    def on_request(self, rng: object) -> FaultEffect:
        """Refuse it, as RFC 6750 §3.1 says."""
        challenge = f'Bearer realm="clerkship", error="invalid_token", error_description="{REASON}"'
        refusal = Refusal(401, "invalid_token", REASON)
        return FaultEffect({"status": 401}, refusal=refusal, headers={"WWW-Authenticate": challenge})
