"""SMART scopes for reading (SMART App Launch §5), and the access that a token with scopes grants."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

Permission = Literal["read", "search"]
"""What a scope allows: reading a resource by its id, or searching."""
ScopeLevel = Literal["patient", "user", "system"]
_SCOPE = re.compile(r"(patient|user|system)/(\*|[A-Z][A-Za-z]{1,63})\.(read|rs|r|s)")
_PERMISSIONS: dict[str, frozenset[Permission]] = {
    "read": frozenset({"read", "search"}),
    "rs": frozenset({"read", "search"}),
    "r": frozenset({"read"}),
    "s": frozenset({"search"}),
}


class BadScope(ValueError):
    """A text that is not a supported scope."""


@dataclass(frozen=True, slots=True)
class SmartScope:
    """One scope, such as `patient/Observation.read` (SMART v1) or `patient/Observation.rs` (SMART v2)."""

    level: ScopeLevel
    """`patient`: only the data of one patient; `user` and `system`: those of all."""
    type: str
    """A resource type, or `*` for all."""
    permissions: frozenset[Permission]
    text: str

    def covers(self, type: str, permission: Permission) -> bool:
        """Return whether the scope allows something with resources of a type."""
        return self.type in ("*", type) and permission in self.permissions


def parse_scope(text: str) -> SmartScope:
    """Parse one scope; raises BadScope. Scopes that allow writing are not supported."""
    match = _SCOPE.fullmatch(text)
    if match is None:
        raise BadScope(f"unsupported scope `{text[:80]}` (expected such as patient/Observation.read or user/*.rs)")
    return SmartScope(cast(ScopeLevel, match[1]), match[2], _PERMISSIONS[match[3]], text)


def parse_scopes(texts: Iterable[str]) -> tuple[SmartScope, ...]:
    """Parse scopes and remove repeated ones; raises BadScope."""
    scopes = tuple(parse_scope(text) for text in dict.fromkeys(texts))
    if not scopes:
        raise BadScope("expected one or more scopes")
    return scopes


@dataclass(frozen=True, slots=True)
class AccessGrant:
    """What an access token with scopes allows, and until when."""

    scopes: tuple[SmartScope, ...]
    patient: str
    """The id of the patient to whom `patient/` scopes are limited; empty if there is no such scope."""
    expires: datetime
    """In wall time: real clients compute it from `expires_in`."""

    def __post_init__(self) -> None:
        if not self.patient and any(scope.level == "patient" for scope in self.scopes):
            raise BadScope("a `patient/` scope needs a patient")

    @property
    def scope(self) -> str:
        """The scopes as OAuth writes them (RFC 6749 §3.3)."""
        return " ".join(scope.text for scope in self.scopes)

    def allows(self, type: str, permission: Permission) -> bool:
        """Return whether a scope covers a type, for all patients or for one."""
        return any(scope.covers(type, permission) for scope in self.scopes)

    def is_limited(self, type: str, permission: Permission) -> bool:
        """Return whether a type may be read for one patient only."""
        covering = (scope for scope in self.scopes if scope.covers(type, permission))
        return all(scope.level == "patient" for scope in covering)
