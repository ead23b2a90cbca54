"""Compiles what HL7 v2 says of messages into the tables that validation reads, out of two libraries that know it.

python -m scripts.hl7_tables            writes src/clerkship/formats/hl7/tables/2.5.1.json and its neighbours python -m
scripts.hl7_tables --check    says whether the tables there are what would be written

`hl7types` (MIT) has fields, data types, and which trigger events there are. Its structures are models with a member
for each name, so a name that comes twice in one sequence is lost (the second PID of ADT_A17, the second ROL of
ADT_A01); `hl7apy` (MIT) has those. Where both say the same but for that, hl7apy's structure is taken, else that of
hl7types.
"""

import re
import sys
import types
import typing
from collections.abc import Collection
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import orjson

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "src" / "clerkship" / "formats" / "hl7" / "tables"
VERSIONS = ("2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8")
TYPES = ("ACK", "ADT", "MDM", "ORM", "ORU", "SIU")
_NEIGHBOUR = {"2.7.1": "2.7"}
"""hl7apy has no 2.7.1; its structures for these types are those of 2.7."""
_NAMESAKES = """
ADT_A01 ADT_A05 ADT_A06 ADT_A09 ADT_A21 ADT_A02 ADT_A24 ADT_A30 ADT_A39 ADT_A43 ADT_A44 ADT_A50 ADT_A52 ADT_A54 ADT_A61
MDM_T01 MDM_T02 ORU_R01 ORU_R30 SIU_S12
"""
"""Structures that several events share (HL7 table 0354), in the order in which they are tried."""
_LEFT_OUT = {
    "2.5.1": dict.fromkeys(("A22", "A23", "A25", "A26", "A27", "A29", "A32", "A33"), "ADT_A21"),
    "2.7": dict.fromkeys(("A40", "A41", "A42"), "ADT_A39"),
    "2.7.1": dict.fromkeys(("A40", "A41", "A42"), "ADT_A39"),
    "2.8": dict.fromkeys(("A40", "A41", "A42"), "ADT_A39"),
}
"""Events that chapter 3 has in these versions and hl7types has not."""
_ADDED = {
    "ORM_O01": (
        ("|RXO", "|RXO [{NTE}] [{RXR}] [{RXC [{NTE}]}]", "2.3"),
        ("{ORC ", "{ORC [{TQ1 [{TQ2}]}] ", "2.5"),
    )
}
"""What a structure has beside what both libraries know, and from which version on. A pharmacy's ORM is a message of its
own in chapter 4 (4.8.1 of 2.3, 4.13.1 of 2.5) under the same event: after RXO come routes and components. TQ1 and
TQ2 take the place of ORC-7 from 2.5 on, where ORM was kept as it had been, and so do those who still send it."""
_OBSERVED = "AD CE CF CNE CP CWE CX DR ED MA MO NA PPN RP SN TS XAD XCN XON XPN XTN"
"""Data types that OBX-5 may be of (table 0125), and so are reached though no field names them."""
_FREE = {"2.3": ("ORC-7",), "2.7.1": ("OBX-2", "OBX-4")}
"""Fields that both libraries demand, and the chapters (4.3.1 of 2.3, 7.4.2 of 2.7.1) leave open or to a condition."""
_NOT_REQUIRED = ("O", "C")
"""What hl7types says of a field in words, and contradicts in its model (OBX-4 of 2.3.1, OBR-27 of 2.3)."""
_SPELLED = {"*": "varies", "var": "varies"}
_FIELD = re.compile(r"^\s+\w+\.(\d+) - .*\((\w+|\*)\) ([A-Z]+)\b", re.MULTILINE)
_COMPONENT = re.compile(r"^\s+\w+\.(\d+) \((?:opt|req)\) - .*\((\w+)\)()\s*$", re.MULTILINE)


class Node(NamedTuple):
    """A segment, or a group of them."""

    name: str
    required: bool
    many: bool
    members: "tuple[Node, ...] | None" = None
    choice: bool = False


def compiled(version: str) -> dict[str, Any]:
    """The table of one version."""
    own = {name: _typed(_message(version, name)) for name in _messages(version)}
    other = {name: _listed(entry) for name, entry in _module_of_hl7apy(version).MESSAGES.items() if name[:3] in TYPES}
    structures: dict[str, tuple[Node, ...]] = {}
    events: dict[str, dict[str, str]] = {}
    for name, members in own.items():
        kind, _, event = name.partition("_")
        chosen = _structure(name, members, other)
        structures.setdefault(chosen, other[chosen] if _same(other.get(chosen), members) else members)
        events.setdefault(kind, {})[event] = chosen
    events["ADT"] |= _LEFT_OUT.get(version, {})
    events["ACK"] = {}  # of any event
    notations = {name: _complete(version, name, written(found)) for name, found in sorted(structures.items())}
    segments = {name: _fields(version, name) for name in sorted(set(re.findall(r"\w+", " ".join(notations.values()))))}
    return {
        "version": version,
        "events": {kind: dict(sorted(found.items())) for kind, found in sorted(events.items())},
        "structures": notations,
        "segments": segments,
        "types": dict(sorted(_types(version, segments).items())),
    }


def _complete(version: str, name: str, notation: str) -> str:
    """A structure with what is added to it."""
    for place, instead, since in _ADDED.get(name, ()):
        assert place in notation, f"{name} of {version} has no {place}"
        if VERSIONS.index(version) >= VERSIONS.index(since):
            notation = notation.replace(place, instead)
    return notation


def _structure(name: str, members: tuple[Node, ...], other: dict[str, tuple[Node, ...]]) -> str:
    """The structure's name in table 0354: its own, or that of the first with which it shares it."""
    if name in other:
        return "SIU_S12" if name[:3] == "SIU" else name  # hl7apy has it once for each event
    shared = (candidate for candidate in _NAMESAKES.split() if candidate[:3] == name[:3])
    return next((candidate for candidate in shared if _same(other.get(candidate), members)), _own(name))


def _own(name: str) -> str:
    return {"ADT_A10": "ADT_A09", "ADT_A11": "ADT_A09"}.get(name, name)


def _same(one: tuple[Node, ...] | None, other: tuple[Node, ...]) -> bool:
    """Whether they are the same but for names that come again, and for what groups are called."""
    return one is not None and _shape(one) == _shape(other)


def _shape(members: tuple[Node, ...], choice: bool = False) -> list[Any]:
    seen: dict[str, Any] = {}
    for node in members:
        inner = None if node.members is None else _shape(node.members, node.choice)
        label = node.name if inner is None else "group"
        seen.setdefault(node.name, (label, node.required and not choice, node.many, inner))
    return list(seen.values())


def written(members: tuple[Node, ...]) -> str:
    """In HL7's own notation: `[ ]` may be missing, `{ }` may come again, `< | >` is one of them."""
    return " ".join(_written(node) for node in members)


def _written(node: Node) -> str:
    if node.members is None:
        text = node.name
    elif node.choice:
        text = f"<{'|'.join(member.name for member in node.members)}>"
    else:
        text = written(node.members)
    if node.many:
        text = f"{{{text}}}"
    return text if node.required else f"[{text}]"


def _module(version: str, part: str) -> str:
    return f"hl7types.hl7.v{version.replace('.', '_')}.{part}"


def _messages(version: str) -> list[str]:
    entries = (Path(entry.name) for entry in files(_module(version, "messages")).iterdir())
    names = sorted(entry.stem for entry in entries if entry.suffix == ".py" and entry.stem[:3] in TYPES)
    return [name for name in names if name == "ACK" or not name.startswith("ACK")]


def _message(version: str, name: str) -> Any:
    return getattr(import_module(f"{_module(version, 'messages')}.{name}"), name)


def _module_of_hl7apy(version: str) -> Any:
    return import_module(f"hl7apy.v{_NEIGHBOUR.get(version, version).replace('.', '_')}.messages")


def _typed(model: Any) -> tuple[Node, ...]:
    """The members of a message or group in hl7types."""
    hints = typing.get_type_hints(model)
    return tuple(_typed_node(hints[name]) for name in model.model_fields)


def _typed_node(hint: Any) -> Node:
    hint, optional = _inner(hint)
    many = typing.get_origin(hint) is list
    if many:
        [hint] = typing.get_args(hint)
    if ".segments." in hint.__module__:
        return Node(hint.__name__, not optional, many)
    members = _typed(hint)
    free = not any(member.required or member.many for member in members)
    choice = free and hint.__name__.endswith(("_CHOICE", "_SUPPGRP"))
    return Node(hint.__name__, not optional, many, members, choice)


def _inner(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    [inner] = [part for part in typing.get_args(hint) if part is not type(None)]
    return inner, True


def _listed(entry: Any) -> tuple[Node, ...]:
    """The members of a message or group in hl7apy."""
    return tuple(_listed_node(*part) for part in entry[1])


def _listed_node(name: str, entry: Any, bounds: tuple[int, int], kind: str) -> Node:
    low, high = bounds
    if kind == "SEG":
        return Node(name, low > 0, high != 1)
    return Node(name, low > 0, high != 1, _listed(entry), entry[0] == "choice")


def _fields(version: str, name: str) -> list[str]:
    model = getattr(import_module(f"{_module(version, 'segments')}.{name}"), name)
    free = {int(place[4:]) for place in _FREE.get(version, ()) if place[:3] == name}
    return _members(model, _FIELD, free)


def _members(model: Any, pattern: re.Pattern[str], free: Collection[int] = ()) -> list[str]:
    """`CX!*` for what must be there and may come again; empty where a number is no longer used."""
    said = {int(number): (kind, usage) for number, kind, usage in pattern.findall(model.__doc__)}
    found: dict[int, str] = {}
    for member in model.model_fields.values():
        number = int(member.serialization_alias.rpartition(".")[2])
        kind, usage = said[number]
        hint, _ = _inner(member.annotation)
        many = typing.get_origin(hint) is list
        inner = typing.get_args(hint)[0] if many else hint
        required = member.is_required() and usage not in _NOT_REQUIRED and number not in free
        name = kind if inner is str else inner.__name__
        found[number] = _SPELLED.get(name, name) + ("!" if required else "") + ("*" if many else "")
    return [found.get(number, "") for number in range(1, max(found, default=0) + 1)]


def _types(version: str, segments: dict[str, list[str]]) -> dict[str, list[str]]:
    """Data types with components, as far as the segments reach them."""
    found: dict[str, list[str]] = {}
    waiting = [*_OBSERVED.split(), *(kind for fields in segments.values() for kind in fields)]
    while waiting:
        name = waiting.pop().rstrip("!*")
        model = _datatype(version, name)
        if model is not None and name not in found:
            found[name] = _members(model, _COMPONENT)
            waiting += found[name]
    if "MSG" in found:
        found["MSG"][2] = found["MSG"][2].rstrip("!")  # demanded from 2.6 on, though it follows from the other two
    if "TS" in found:
        found["TS"][0] = found["TS"][0].replace("ST", "DTM")  # before 2.5 its format is in the text alone
    return found


def _datatype(version: str, name: str) -> Any:
    try:
        return getattr(import_module(f"{_module(version, 'datatypes')}.{name}"), name)
    except ModuleNotFoundError:
        return None


def dumped(table: dict[str, Any]) -> bytes:
    """Its bytes: the same for the same libraries."""
    return orjson.dumps(table, option=orjson.OPT_APPEND_NEWLINE)


def main() -> None:
    """Write the tables, or check them."""
    TABLES.mkdir(exist_ok=True)
    for version in VERSIONS:
        file = TABLES / f"{version}.json"
        data = dumped(compiled(version))
        if "--check" not in sys.argv:
            file.write_bytes(data)
            table = orjson.loads(data)
            print(f"{version}: {', '.join(f'{len(table[part])} {part}' for part in table if part != 'version')}")
        elif file.read_bytes() != data:
            sys.exit(f"{file.relative_to(ROOT)} is not what the libraries say: run python -m scripts.hl7_tables")


if __name__ == "__main__":
    main()
