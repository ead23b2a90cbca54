"""The codes of refusals that the reference lists are those that the simulator uses."""

import re
from collections.abc import Iterator
from pathlib import Path

from clerkship.simulators import messages
from clerkship.simulators.messages.email.connection import SMTP_REFUSALS
from clerkship.simulators.messages.twilio.errors import BAD_REQUEST, CODES_BY_STATUS, REFUSALS

FOLDER = Path(messages.__file__).parent
FROM_AIOSMTPD = {"501", "530"}
UNDELIVERED = {"30003", "30005", "30006"}
"""Codes of messages that were accepted."""
UNUSED_STATUSES = {403, 500, 503}
"""Statuses that only a fault makes."""


def read_sources(folder: Path, *without: str) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if path.name not in without:
            yield path.read_text(encoding="utf-8")


def test_every_code_of_twilio_is_listed() -> None:
    text = "\n".join(read_sources(FOLDER, "errors.py"))
    used = set(re.findall(r'"([123]\d{4})"', text)) - UNDELIVERED
    by_status = {str(code) for status, code in CODES_BY_STATUS.items() if status not in UNUSED_STATUSES}
    assert used | by_status | {str(BAD_REQUEST)} == set(REFUSALS)


def test_every_refusal_of_smtp_is_listed() -> None:
    text = "\n".join([*read_sources(FOLDER / "email", "replies.py"), (FOLDER / "checks.py").read_text("utf-8")])
    used = set(re.findall(r'"([45]\d\d)(?: \d\.\d+\.\d+ |")', text))
    assert used | FROM_AIOSMTPD == set(SMTP_REFUSALS)
