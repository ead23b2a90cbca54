"""`expired`: the token of the sandbox stops working."""

from typing import ClassVar

from clerkship.sandbox.faults.contract import Fault, FaultEffect
from clerkship.sandbox.request import Refusal

REASON = "The access token expired"


class ExpiredFault(Fault):
    """The token has expired.

    The reply is a 401 in the format of the protocol, with `WWW-Authenticate: Bearer error="invalid_token"`. After
    `times` requests the same token works again, as if it had been renewed; without `times` it never does. `skip` is
    the number of requests for which it is valid.
    """

    name: ClassVar[str] = "expired"

    def on_request(self, rng: object) -> FaultEffect:
        """Refuse the request as in RFC 6750 §3.1."""
        challenge = f'Bearer realm="clerkship", error="invalid_token", error_description="{REASON}"'
        refusal = Refusal(401, "invalid_token", REASON)
        return FaultEffect({"status": 401}, refusal=refusal, headers={"WWW-Authenticate": challenge})
