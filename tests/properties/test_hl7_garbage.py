"""An interface engine answers any input, and the log rebuilds its state."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clerkship.formats.hl7.ack import parse_ack
from clerkship.formats.hl7.batch import split_messages
from clerkship.formats.hl7.message import parse_message
from clerkship.formats.hl7.validation import ValidationLevel
from tests.examples import examples
from tests.simulators.hl7.interface import Interface, admission, build_msh, results

LEVELS: st.SearchStrategy[ValidationLevel] = st.sampled_from(["strict", "lenient"])
WHOLE = (
    admission("A1"),
    results("R1", "4.2", "6.1"),
    f"{build_msh('X', 'ACK')}\rMSA|AA|A1\r",
    admission("A2", accept="AL|AL"),
)
SIGNS = st.sampled_from(
    [*"|^~\\&\r\n\0#MSHPID", "MSH|", "\rMSH|^~\\&|", "\rBTS|2\r", "FHS|^~\\&|\r", "BHS^", "ü", "\ud7ff"]
)


@st.composite
def mangled_messages(draw: st.DrawFn) -> bytes:
    """A message in which bytes are cut, inserted or swapped."""
    text = draw(st.sampled_from(WHOLE)) + draw(st.sampled_from(["", *WHOLE]))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(text)))
        end = place + draw(st.integers(0, 12))
        text = text[:place] + draw(SIGNS) + text[end:]
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\x0b"])) + text.encode(
        draw(st.sampled_from(["utf-8", "utf-8", "latin-1", "utf-16-le"])), errors="replace"
    )


@given(bodies=st.lists(mangled_messages() | st.binary(max_size=200), min_size=1, max_size=3), level=LEVELS)
@settings(max_examples=examples(100), deadline=None)
@example(bodies=[b"MSH|^~\\&"], level="lenient")
@example(bodies=[b"MSH|^~\\&|||||||ADT|1\r"], level="lenient")
@example(bodies=[b"MSH||||||||ADT^A01|1|P|2.5\r"], level="strict")
@example(bodies=[b"MSH|^|a|b|c|d|||ADT^A01|1~2|P|2.3\rERR|\r"], level="strict")
@example(bodies=[b"BHS|^~\\&\rMSH|^~\\&|a|b|||||ADT^A01|1|P|2.5\rBHS*\r"], level="lenient")
def test_any_sent_bytes_are_answered(bodies: list[bytes], level: ValidationLevel) -> None:
    engine = Interface(validation=level)
    for body in bodies:
        reply = engine.post(body)
        assert reply.status in (200, 204, 400), reply
        if reply.status == 200:
            answer = split_messages(reply.body)
            assert answer.messages
            assert all(
                parse_ack(parse_message(text)).code in ("AA", "AE", "AR", "CA", "CE", "CR") for text in answer.messages
            )
        engine.ask("GET", "/hl7/outbound")
        assert engine.ask("GET", "/hl7/inbox", all="true").status == 200
    assert engine.rig.playground.broken is None
    assert engine.replays_to_same_state()


@given(body=mangled_messages() | st.binary(max_size=100), code=st.text(max_size=3), text=st.text(max_size=30))
@settings(max_examples=examples(60), deadline=None)
def test_any_acknowledgement_is_answered(body: bytes, code: str, text: str) -> None:
    engine = Interface()
    engine.arrive(message=WHOLE[1])
    engine.arrive(message=WHOLE[0].replace("|2.5.1", "|2.8"))
    for id in ("1", "2", text.replace("/", "") or "x"):
        assert engine.ask("POST", f"/hl7/inbox/{id}/ack", body).status in (204, 400, 404, 409)
        assert engine.ask("POST", f"/hl7/inbox/{id}/ack", code=code, text=text).status in (204, 400, 404, 409)
        assert engine.ask("POST", f"/hl7/inbox/{id}/ack", code="AE", text=text).status in (204, 404, 409)
    assert engine.rig.playground.broken is None
    assert engine.replays_to_same_state()


IDS = st.sampled_from(["1", "2", "3"])


class Traffic(RuleBasedStateMachine):
    """The model: accepted messages by control id, and the acknowledgement of each entry of the inbox."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = Interface()
        self.taken: dict[str, str] = {}
        self.said: list[list[str]] = []

    @rule(id=IDS, name=st.sampled_from(["Ada", "Eva"]), bad=st.booleans())
    def send(self, id: str, name: str, bad: bool) -> None:
        message = admission(id, name=name)
        messages = self.engine.send(message.replace("4711^^^CLINIC^MR", "") if bad else message)
        good = not bad and self.taken.setdefault(id, message) == message
        assert messages.code == ("AA" if good else "AE")

    @rule(id=IDS, times=st.integers(1, 2))
    def arrive(self, id: str, times: int) -> None:
        self.engine.arrive(message=results(id), times=times)
        self.said += [[] for _ in range(times)]

    @rule(place=st.integers(0, 3), code=st.sampled_from(["AA", "AE", "CA"]))
    def acknowledge(self, place: int, code: str) -> None:
        reply = self.engine.ask("POST", f"/hl7/inbox/{place + 1}/ack", code=code)
        if place >= len(self.said):
            assert reply.status == 404
            return
        before = self.said[place]
        if code in before:
            assert reply.status == 204
        elif not before or (before == ["CA"] and code != "CA"):
            assert reply.status == 204
            before.append(code)
        else:
            assert reply.status == 409

    @invariant()
    def the_inbox_has_what_is_not_answered(self) -> None:
        waiting = [entry.id for entry in self.engine.state.pending()]
        assert waiting == [str(place) for place, said in enumerate(self.said, 1) if not said]
        assert len([sent for sent in self.engine.state.sent if sent.is_accepted]) == len(self.taken)

    @invariant()
    def the_log_rebuilds_it(self) -> None:
        assert self.engine.replays_to_same_state()


Traffic.TestCase.settings = settings(max_examples=examples(30), stateful_step_count=20, deadline=None)
TestTraffic = Traffic.TestCase
