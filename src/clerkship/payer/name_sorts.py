"""The sorts of names that payers define, and how such names are compared."""

import re

from clerkship.model.closed import NameOf

_CODE_PATTERN = re.compile(r".*\*.*|(\w*\d)-(\w*\d)")


def normalize_member_id(member_id: str) -> str:
    """Return a member id as payers compare it: capitals, without spaces and hyphens."""
    return member_id.replace(" ", "").replace("-", "").upper()


def _is_code_pattern(name: str) -> bool:
    return _CODE_PATTERN.fullmatch(name) is not None


MEMBER_ID = NameOf("member id", normalize_member_id, or_mentioned=True, is_pattern=_is_code_pattern)
PAYER = NameOf("payer", is_pattern=_is_code_pattern)
PLAN = NameOf("plan", is_pattern=_is_code_pattern)
CLAIM = NameOf("claim")
ACCOUNT = NameOf("claim with the account")
POLICY = NameOf("policy")
