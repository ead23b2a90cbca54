"""SMART scopes (SMART App Launch 2.2: scopes), and the access that a token with scopes grants."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

Permission = Literal["create", "read", "update", "delete", "search"]
"""What a scope allows: an interaction with one resource, or searching and listing. Their first letters, in this order,
are the suffixes of SMART v2."""
PERMISSIONS: tuple[Permission, ...] = ("create", "read", "update", "delete", "search")
ScopeLevel = Literal["patient", "user", "system"]
_SCOPE = re.compile(r"(patient|user|system)/(\*|[A-Z][A-Za-z]{1,63})\.(read|write|\*|(?=[cruds])c?r?u?d?s?)")
_V1_SUFFIXES = {"read": "rs", "write": "cud", "*": "cruds"}


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
        """Return whether the scope allows something with resources of a type; an empty one stands for all types."""
        return self.type in ("*", type) and permission in self.permissions

    def intersect(self, other: "SmartScope") -> "SmartScope | None":
        """Return what both scopes allow; None if that is nothing."""
        permissions = self.permissions & other.permissions
        type = other.type if self.type == "*" else self.type
        if not permissions or self.level != other.level or other.type not in ("*", type):
            return None
        if (type, permissions) == (self.type, self.permissions):
            return self
        letters = "".join(each[0] for each in PERMISSIONS if each in permissions)
        return SmartScope(self.level, type, permissions, f"{self.level}/{type}.{letters}")


def parse_scope(text: str) -> SmartScope:
    """Parse one scope; raises BadScope. Only `system/` scopes may allow writing."""
    match = _SCOPE.fullmatch(text)
    letters = _V1_SUFFIXES.get(match[3], match[3]) if match is not None else ""
    if match is None or (match[1] != "system" and not set(letters) <= set("rs")):
        raise BadScope(f"unsupported scope `{text[:80]}` (expected such as patient/Observation.read or system/*.rs)")
    permissions = frozenset(each for each in PERMISSIONS if each[0] in letters)
    return SmartScope(cast(ScopeLevel, match[1]), match[2], permissions, text)


def parse_scopes(texts: Iterable[str], level: str = "") -> tuple[SmartScope, ...]:
    """Parse scopes and remove repeated ones; raises BadScope, also for one of another level if a level is given."""
    scopes = tuple(parse_scope(text) for text in dict.fromkeys(texts))
    for scope in scopes:
        if level and scope.level != level:
            raise BadScope(f"`{scope.text}` cannot be requested here (expected such as {level}/*.rs)")
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
    is_simulated: bool = False
    """Whether it expires in simulated time, as tokens that an agent requests do. Tokens that a sandbox hands to a
    service expire in wall time: real services compute it from `expires_in`."""

    def __post_init__(self) -> None:
        if not self.patient and any(scope.level == "patient" for scope in self.scopes):
            raise BadScope("a `patient/` scope needs a patient")

    @property
    def scope(self) -> str:
        """The scopes as OAuth writes them (RFC 6749 §3.3)."""
        return " ".join(scope.text for scope in self.scopes)

    def allows(self, type: str, permission: Permission) -> bool:
        """Return whether a scope covers a type, or all types if it is empty, for all patients or for one."""
        return any(scope.covers(type, permission) for scope in self.scopes)

    def is_limited(self, type: str, permission: Permission) -> bool:
        """Return whether a permission for a type is for one patient only."""
        covering = (scope for scope in self.scopes if scope.covers(type, permission))
        return all(scope.level == "patient" for scope in covering)
