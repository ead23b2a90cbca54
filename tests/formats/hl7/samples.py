"""Messages generated from the tables: with the required parts of a structure, or with all parts."""

import re
from collections.abc import Iterator

from clerkship.formats.hl7.tables import VersionTables, load_tables

VERSIONS = ("2.3", "2.3.1", "2.4", "2.5", "2.5.1", "2.6", "2.7", "2.7.1", "2.8")
EVENTS = ("ADT^A01", "ADT^A03", "ADT^A08", "ADT^A40", "ORM^O01", "ORU^R01", "SIU^S12", "SIU^S15", "MDM^T01", "MDM^T02")
_VALUES = {"NM": "1", "SI": "1", "DT": "20260302", "TM": "0915", "DTM": "20260302091500", "TS": "20260302091500"}
_SPECIAL = {("OBX", 2): "ST", ("MSH", 11): "P"}
Fields = list[str]


def build_segments(version: str, kind: str, *, full: bool = False) -> list[Fields]:
    """Return the segments of a message type (`ADT^A01`), each as its fields; `full` includes optional parts."""
    table = load_tables(version)
    type, _, event = kind.partition("^")
    structure = table["events"][type][event]
    names = all_names(table["structures"][structure]) if full else required_names(table["structures"][structure])
    segments = [build_segment(table, name, full=full) for name in names]
    stated = kind if version == "2.3" else f"{kind}^{structure}"
    header = segments[0]
    header[1:3] = ["|", "^~\\&"]
    header[9], header[10], header[12] = stated, "M1", version
    if len(header) > 18:
        header[14:] = []
    return segments


def render(segments: list[Fields]) -> str:
    """Render the message."""
    lines = ["|".join([fields[0], *fields[2:]] if fields[0] == "MSH" else fields) for fields in segments]
    return "".join(f"{line}\r" for line in lines)


def build_segment(table: VersionTables, name: str, *, full: bool = False) -> Fields:
    """Build a segment with a value in each required field, or in each field."""
    listed = table["segments"][name]
    fields = [name]
    for number, kind in enumerate(listed, 1):
        wanted = kind and (full or "!" in kind)
        fields.append((_SPECIAL.get((name, number)) or build_value(table, kind, full=full)) if wanted else "")
    if name == "MSH":
        fields += [""] * (13 - len(fields))
    while not fields[-1] and name != "MSH":
        fields.pop()
    return fields


def build_value(table: VersionTables, kind: str, *, full: bool = False, depth: int = 0) -> str:
    """Build a valid value of a data type."""
    name = kind.rstrip("!*")
    components = table["types"].get(name)
    if components is None:
        return _VALUES.get(name, "X")
    if depth == 2:  # no delimiter is left for components
        return ""
    parts = [
        build_value(table, part, full=full, depth=depth + 1) if full or "!" in part or number == 0 else ""
        for number, part in enumerate(components)
    ]
    return "^&"[depth].join(parts).rstrip("^&")


def all_names(notation: str) -> list[str]:
    """Return every segment of a structure once, one of each choice."""
    return re.findall(r"\w+", re.sub(r"<(\w+)\|[^>]*>", r"\1", notation))


def required_names(notation: str) -> list[str]:
    """Return the required segments."""
    return list(_required(re.sub(r"<(\w+)\|[^>]*>", r"\1", notation)))


def _required(notation: str) -> Iterator[str]:
    depth = 0
    for token in re.findall(r"[\[\]]|\w+", notation):
        if token in "[]":
            depth += 1 if token == "[" else -1
        elif depth == 0:
            yield token


def list_message_types(version: str) -> list[str]:
    """Return those of EVENTS that a version has."""
    events = load_tables(version)["events"]
    return [kind for kind in EVENTS if kind[4:] in events.get(kind[:3], {})]
