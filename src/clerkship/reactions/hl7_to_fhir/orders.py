"""Group the segments of an ORM or ORU message by order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from clerkship.formats.hl7.message import Hl7Message, Segment
from clerkship.reactions.hl7_to_fhir.fields import read_repetition, read_repetitions
from clerkship.reactions.hl7_to_fhir.filing import Filing
from clerkship.reactions.hl7_to_fhir.identifiers import Hl7Identifier, parse_ei


@dataclass
class ObservationResult:
    """An OBX with its notes."""

    obx: Segment
    notes: list[Segment] = field(default_factory=list)


@dataclass
class Order:
    """An order or report of one patient: an ORC, an OBR or both, with the segments below."""

    pid: Segment | None
    pv1: Segment | None
    orc: Segment | None = None
    obr: Segment | None = None
    notes: list[Segment] = field(default_factory=list)
    times: list[Segment] = field(default_factory=list)
    diagnoses: list[Segment] = field(default_factory=list)
    results: list[ObservationResult] = field(default_factory=list)
    others: list[Segment] = field(default_factory=list)
    """Order detail segments other than OBR: RXO, RQD, ODS, …"""

    def placer(self, filing: Filing) -> Hl7Identifier | None:
        """Return the placer's number: OBR-2, else ORC-2."""
        return self._number(filing, 2, "PLAC")

    def filler(self, filing: Filing) -> Hl7Identifier | None:
        """Return the filler's number: OBR-3, else ORC-3."""
        return self._number(filing, 3, "FILL")

    def _number(self, filing: Filing, at: int, type: str) -> Hl7Identifier | None:
        for segment in (self.obr, self.orc):
            repetition = read_repetition(segment, at)
            if repetition is not None and repetition.text():
                return parse_ei(repetition, filing.authorities, type)
        return None


def group_orders(message: Hl7Message) -> list[Order]:
    """Return the orders of a message, which may be about several patients."""
    return list(_orders(message))


def _orders(message: Hl7Message) -> Iterator[Order]:
    pid: Segment | None = None
    pv1: Segment | None = None
    current: Order | None = None
    for segment in message.segments:
        name = segment.name
        if name == "PID":
            if current is not None:
                yield current
            pid, pv1, current = segment, None, None
        elif name == "PV1":
            pv1 = segment
        elif name == "ORC" or (name == "OBR" and (current is None or current.obr is not None)):
            if current is not None:
                yield current
            current = Order(pid, pv1)
            _add_segment(current, segment)
        elif current is not None:
            _add_segment(current, segment)
    if current is not None:
        yield current


def _add_segment(order: Order, segment: Segment) -> None:
    match segment.name:
        case "ORC":
            order.orc = segment
        case "OBR":
            order.obr = segment
        case "OBX":
            order.results.append(ObservationResult(segment))
        case "NTE":
            (order.results[-1].notes if order.results else order.notes).append(segment)
        case "TQ1":
            order.times.append(segment)
        case "DG1":
            order.diagnoses.append(segment)
        case "RXO" | "RQD" | "RQ1" | "ODS" | "ODT":
            order.others.append(segment)


def join_notes(notes: Iterable[Segment]) -> str:
    """Return the comments of NTE segments, one line each."""
    return "\n".join(filter(None, ("\n".join(each.whole for each in read_repetitions(note, 3)) for note in notes)))
