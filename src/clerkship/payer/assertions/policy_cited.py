"""`policy_cited`: what the agent wrote names the policy and the version that decides."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple

from pydantic import Field

from clerkship.assertions.occurrence import join_first
from clerkship.assertions.patients.subject import read_data
from clerkship.events.evidence import Evidence
from clerkship.model.names import did_you_mean
from clerkship.model.run import FieldCheck
from clerkship.payer.name_sorts import POLICY
from clerkship.payer.policies.citations import PolicyCitation, PolicyReader
from clerkship.payer.state import PayerState
from clerkship.sandbox.activity import Disclosure, WrittenText, list_activity
from clerkship.sandbox.assertion import Assertion, Check

WrittenPlace = Literal["answer", "chart", "portal", "fax", "messages", "phone", "x12", "files", "chat", "other"]
_PLACES: Mapping[str, WrittenPlace] = {
    "payer_portal": "portal",
    "payer_document": "portal",
    "payer": "chart",
    "fax": "fax",
    "sms": "messages",
    "email": "messages",
    "portal": "messages",
    "phone": "phone",
    "x12": "x12",
    "file": "files",
    "chat": "chat",
}
"""By channel of a disclosure."""


class PlacedWords(NamedTuple):
    """A text that the agent wrote, and where."""

    place: WrittenPlace
    name: str
    """For a reviewer, such as `fax page 2`."""
    text: str
    seq: int | None = None


class PolicyCited(Assertion):
    """What the agent wrote names the policy that decides, and its version if `version` is given; and it names no other
    version of it, and no other policy of the library but those of `beside`. Names that the text sets aside, such as
    `supersedes 2025.2` or `CM-GDL-001 gives way`, are no contradiction.
    """

    name: ClassVar[str] = "policy_cited"
    simulator: ClassVar[str | None] = "payer"
    unscoped_reason: ClassVar[str] = "it reads everything that the agent wrote"
    policy: Annotated[str, POLICY, Field(description="id of the policy that decides")]
    version: Annotated[str | None, Field(description='number of its version that decides, in quotes: "2026.1"')] = None
    places: Annotated[
        tuple[WrittenPlace, ...] | None,
        Field(alias="in", min_length=1, description="where to look; everything that the agent wrote if not given"),
    ] = None
    beside: Annotated[
        tuple[Annotated[str, POLICY], ...], Field(description="ids of policies that may be named, too")
    ] = ()
    sandbox: Annotated[str | None, Field(description="name of the domain; not needed if there is only one")] = None

    def check(self, evidence: Evidence) -> Check:
        """Read all texts, and report each place where a policy is named."""
        policies = evidence.state(PayerState, self.sandbox).book.policies
        decisive = policies.get(self.policy)
        if decisive is None:
            hint = did_you_mean(self.policy, policies)
            raise ValueError(f"there is no policy {self.policy}; {hint or 'add a dataset of type policies'}")
        if self.version is not None and decisive.find_version(self.version) is None:
            numbers = ", ".join(each.number for each in decisive.versions)
            raise ValueError(f"{self.policy} has no version {self.version} (expected: {numbers})")
        reader = PolicyReader(list(policies.values()))
        rows = [row for written in list_written(evidence) for row in self._compare(written, reader)]
        wrong = [row for row in rows if not row.passed]
        is_named = any(row.passed for row in rows)
        if wrong:
            named = join_first(list(dict.fromkeys(f"{row.path} names {row.actual}" for row in wrong)), most=3)
            return Check.of(False, f"expected {self._wanted} alone: {named}", *wrong, *(r for r in rows if r.passed))
        if not is_named:
            where = f" in {', '.join(self.places)}" if self.places else ""
            missing = FieldCheck(path="policy", expected=self._wanted, actual="(not named)", passed=False)
            return Check.of(False, f"the agent names {self._wanted} nowhere{where}", missing)
        return Check.of(True, f"{rows[0].path} names {self._wanted}", *rows)

    @property
    def _wanted(self) -> str:
        return f"{self.policy} {self.version}" if self.version else self.policy

    def _compare(self, written: PlacedWords, reader: PolicyReader) -> Iterator[FieldCheck]:
        """Yield a row for each name in a text that is the expected one, or contradicts it."""
        if self.places is not None and written.place not in self.places:
            return
        for cited in reader.read(written.text):
            verdict = self._judge(cited)
            if verdict is not None:
                actual = f"{cited.name}{' (set aside)' * cited.is_set_aside}: … {cited.excerpt} …"
                path = written.name
                yield FieldCheck(path=path, expected=self._wanted, actual=actual, passed=verdict, seq=written.seq)

    def _judge(self, cited: PolicyCitation) -> bool | None:
        """Return whether a name is the expected one, or contradicts it; None if it is neither."""
        if cited.policy != self.policy:
            return None if cited.is_set_aside or cited.policy in self.beside else False
        if self.version is None or cited.version == self.version:
            return not cited.is_set_aside
        return None if cited.version is None or cited.is_set_aside else False


def list_written(evidence: Evidence) -> Iterator[PlacedWords]:
    """Yield the answer, and the texts that the agent wrote in sandboxes, in the order of the log."""
    if evidence.answered:
        answer = evidence.answer
        text = answer if isinstance(answer, str) else "\n".join(read_data(answer).lines)
        yield PlacedWords("answer", "answer", text)
    for activity in evidence.cached(list_activity):
        if isinstance(activity, WrittenText):
            for part in activity.parts:
                yield PlacedWords("chart", f"{activity.record} {part.place}", part.text, activity.event.seq)
        elif isinstance(activity, Disclosure):
            place = _PLACES.get(activity.channel, "other")
            for part in activity.parts:
                yield PlacedWords(place, f"{activity.channel} {part.place}", part.text, part.seq or activity.event.seq)
