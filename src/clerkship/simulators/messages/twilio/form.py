"""Parameters of requests to the Twilio API: forms and queries, with names in any case."""

from collections.abc import Iterable
from urllib.parse import parse_qsl

from clerkship.sandbox.request import Refusal

FORM = "application/x-www-form-urlencoded"
MAX_PARAMETERS = 200


class TwilioParameters:
    """The parameters of a request. Twilio ignores the case of their names."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name.lower(), []).append(value)

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a parameter."""
        return self._values.get(name.lower(), [default])[-1]

    def get_all(self, name: str) -> list[str]:
        """Return all values of a parameter that are not empty."""
        return [value for value in self._values.get(name.lower(), ()) if value]


def parse_form(body: bytes) -> TwilioParameters:
    """Parse a form (`application/x-www-form-urlencoded`); raise Refusal if it is none."""
    try:
        text = body.decode()
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARAMETERS, errors="strict")
    except ValueError:
        reason = f"the body is not a form in UTF-8 with at most {MAX_PARAMETERS} parameters ({FORM})"
        raise Refusal(400, "20001", reason) from None
    return TwilioParameters(pairs)
