"""Batches: interchanges in files of a file drop, and their replies."""

from typing import Any

import pytest

from clerkship.events.event import Event
from clerkship.formats.x12.interchange import Interchange, parse_interchanges
from clerkship.model.environment import Environment
from clerkship.payer import SPEC as PAYER
from clerkship.payer.config import PayerConfig
from clerkship.payer.determination_rule import Determination
from clerkship.payer.state import PayerState
from clerkship.playground.component import PreparedComponent
from clerkship.playground.gateway import Gateway
from clerkship.playground.in_process import InProcessTransport
from clerkship.playground.playground import Playground, PlaygroundOptions, SavedLog, replay
from clerkship.playground.sandbox import PreparedSimulator
from clerkship.sandbox.state import ActionContext
from clerkship.simulators import files, x12
from clerkship.simulators.files.config import FilesConfig
from clerkship.simulators.files.handle import Files
from clerkship.simulators.files.state import FilesState
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.handle import X12
from tests.call_count import count_calls, measure_alone
from tests.simulators.x12.clearinghouse import (
    MEMBERS,
    authorization,
    eligibility,
    group,
    interchange,
    one,
    segments_of,
    ta1_of,
)

REACTIONS = [
    "drop.file -> clearing",
    "clearing.batch.replied -> drop",
    "payer.authorization.determined -> clearing",
]


class Exchange:
    """A clearinghouse with a file drop."""

    def __init__(self, payer: dict[str, Any] | None = None, **config: Any) -> None:
        simulators = {"drop": {"kind": "files"}, "clearing": {"kind": "x12"}}
        written = {"name": "exchange", "simulators": simulators, "domains": {"payer": {"kind": "payer"}}}
        environment = Environment.model_validate(written | {"reactions": REACTIONS})
        prepared = {
            "drop": PreparedSimulator(files.SPEC, FilesConfig()),
            "clearing": PreparedSimulator(x12.SPEC, X12Config.model_validate(config)),
        }
        domains = {
            "payer": PreparedComponent(PAYER, PayerConfig.model_validate(MEMBERS | (payer or {})), PAYER.prepare(()))
        }
        self.prepared = {**prepared, **domains}
        self.playground = Playground(environment, prepared, "x", PlaygroundOptions(domains=domains))
        gateway = Gateway()
        self.drop = Files(InProcessTransport(gateway, self.playground, "drop", str))
        self.clearing = X12(InProcessTransport(gateway, self.playground, "clearing", str))

    def write(self, path: str, edi: str | bytes) -> None:
        """Write a file as the agent does."""
        self.drop.write(path, edi)

    def advance(self, minutes: float) -> None:
        """Let time pass."""
        now = self.playground.now
        self.playground.advance(now.resolution * int(minutes * 60_000_000))

    def inbound(self) -> list[str]:
        """Return the files for the agent."""
        return self.drop.list("inbound")

    def read(self, path: str) -> Interchange:
        """Parse a file for the agent."""
        [parsed] = parse_interchanges(self.drop.read(path))
        assert not parsed.problems
        return parsed

    def kinds(self, source: str) -> list[str]:
        """Return the kinds of the events of a sandbox."""
        return [event.kind for event in self.playground.log.events if event.source == source]


def test_batch_is_acknowledged_first_and_answered_later() -> None:
    exchange = Exchange()
    exchange.write("outbound/elig-17.edi", interchange(group("270", eligibility("A"), eligibility("B"))))
    assert exchange.inbound() == []
    exchange.advance(1)
    [acknowledgment] = exchange.inbound()
    assert acknowledgment == "inbound/elig-17.000000001.ack.edi"
    assert segments_of(exchange.read(acknowledgment), "AK9") == ["AK9*A*2*2*2"]
    assert [each["transaction"] for each in exchange.clearing.transactions()] == ["270", "270", "999"]
    exchange.advance(9)
    [_, reply] = exchange.inbound()
    assert reply == "inbound/elig-17.000000002.reply.edi"
    assert [each.split("*")[2] for each in segments_of(exchange.read(reply), "TRN")] == ["A", "B"]
    assert len(exchange.clearing.transactions(transaction="271")) == 2


def test_answer_is_not_named_before_it_is_delivered() -> None:
    exchange = Exchange()
    exchange.write("outbound/a.edi", one("270", eligibility()))
    [request] = exchange.clearing.transactions()
    assert "answer" not in request
    assert "answer" not in exchange.clearing.interchanges()[0]["sent"][0]
    assert "answer" not in exchange.clearing.transaction(request["id"])
    exchange.advance(10)
    [answer] = exchange.clearing.transactions("271")
    assert exchange.clearing.transactions("270")[0]["answer"] == answer["id"]


def test_delays_and_folders_are_a_matter_of_config() -> None:
    batch = {"outbound": "to/payer", "inbound": "from/payer", "acknowledge_after": "5s", "answer_after": "2h"}
    exchange = Exchange(batch=batch)
    exchange.write("outbound/a.edi", one("270", eligibility()))
    exchange.write("to/payer/a.edi", one("270", eligibility()))
    exchange.write("to/payer/old/b.edi", one("270", eligibility(), 102))
    exchange.advance(1)
    assert exchange.drop.list("from") == ["from/payer/a.000000001.ack.edi"]
    exchange.advance(120)
    assert len(exchange.drop.list("from")) == 2


def test_refused_interchange_gets_a_ta1_and_no_999() -> None:
    exchange = Exchange()
    edi = one("270", eligibility())
    exchange.write("outbound/a.edi", edi.replace("IEA*1", "IEA*3"))
    exchange.write("outbound/b.edi", edi)
    exchange.write("outbound/c.edi", edi)
    exchange.advance(20)
    by_name = {
        path.split("/")[1].split(".")[0] + path.split(".")[2]: exchange.read(path) for path in exchange.inbound()
    }
    assert sorted(by_name) == ["aack", "back", "breply", "cack"]
    assert (ta1_of(by_name["aack"]), ta1_of(by_name["cack"])) == ("R 021", "R 025")
    assert not by_name["aack"].groups
    assert exchange.kinds("payer") == ["payer.eligibility.checked"]


def test_refused_set_is_acknowledged_and_the_others_are_answered() -> None:
    exchange = Exchange()
    bad = [segment.replace("DMG*D8", "DMG*D9") for segment in eligibility("BAD1")]
    exchange.write("outbound/a.edi", interchange(group("270", bad, eligibility("GOOD1")), ta1="1"))
    exchange.advance(20)
    acknowledgment, reply = (exchange.read(path) for path in exchange.inbound())
    assert ta1_of(acknowledgment) == "A 000"
    assert segments_of(acknowledgment, "AK9") == ["AK9*P*2*2*1"]
    assert segments_of(reply, "TRN") == ["TRN*2*GOOD1*9CEDAR0001"]


def test_file_is_received_when_it_gets_its_final_name() -> None:
    exchange = Exchange()
    exchange.write("outbound/a.edi.part", one("270", eligibility("A"), 1))
    exchange.write("staging/b.edi", one("270", eligibility("B"), 2))
    assert exchange.kinds("clearing") == []
    exchange.drop.rename("outbound/a.edi.part", "outbound/a.edi")
    exchange.drop.rename("staging/b.edi", "outbound/b.edi")
    exchange.drop.rename("outbound/b.edi", "outbound/c.edi")
    assert [each["file"] for each in exchange.clearing.interchanges()] == ["outbound/a.edi", "outbound/b.edi"]


def test_interrupted_upload_is_not_received() -> None:
    exchange = Exchange()
    state = exchange.playground.sandboxes["drop"].state
    assert isinstance(state, FilesState)
    context: ActionContext = exchange.playground.context_for("drop", "agent")
    state.write(context, "outbound/a.edi", one("270", eligibility()).encode(), complete=False)
    state.rename(context, "outbound/a.edi", "other.edi")
    state.rename(context, "other.edi", "outbound/a.edi")
    assert exchange.kinds("clearing") == []


@pytest.mark.parametrize("data", [b"", b"hello", bytes(range(256))])
def test_file_that_is_not_x12_is_refused_in_the_log(data: bytes) -> None:
    exchange = Exchange()
    exchange.write("outbound/a.edi", data)
    exchange.advance(20)
    assert (exchange.kinds("clearing"), exchange.inbound()) == (["sandbox.refused"], [])


def test_file_that_is_too_large_gets_a_ta1() -> None:
    exchange = Exchange(max_interchange=1000)
    exchange.write("outbound/a.edi", one("270", eligibility()) + " " * 100_000)
    exchange.advance(20)
    [path] = exchange.inbound()
    assert ta1_of(exchange.read(path)) == "R 024"
    assert exchange.playground.log.size < 200_000


def test_acknowledgment_in_a_file_is_noted() -> None:
    exchange = Exchange()
    exchange.write("outbound/a.edi", interchange("TA1*000000001*260302*1400*A*000~").replace("IEA*1", "IEA*0"))
    exchange.advance(20)
    assert exchange.inbound() == []
    assert [each["outcome"] for each in exchange.clearing.transactions()] == ["noted"]


def test_fork_delivers_the_replies_that_are_due() -> None:
    original, fork = Exchange(), Exchange()
    original.write("outbound/a.edi", one("270", eligibility()))
    original.advance(2)
    events: list[Event] = list(original.playground.log.events)
    log = original.playground.log
    fork.playground.rewind(SavedLog(events, log.lines, log.blobs))
    fork.playground.advance(original.playground.now - fork.playground.now)
    for exchange in (original, fork):
        exchange.advance(10)
    assert fork.playground.log.lines == original.playground.log.lines
    assert len(fork.inbound()) == 2
    states = replay(fork.prepared, fork.playground.log.events)
    assert states["clearing"].dump() == fork.playground.sandboxes["clearing"].state.dump()


def count_first_and_later_delivery() -> list[int]:
    """Return the calls of a delivery while one other reply waits, and while a hundred do."""
    exchange = Exchange(batch={"acknowledge_after": "1m", "answer_after": "10d"})

    def deliver(number: int) -> int:
        exchange.write(f"outbound/{number}.edi", one("270", eligibility(), number))
        return count_calls(lambda: exchange.advance(1))

    deliver(1)
    first = deliver(2)
    for number in range(3, 100):
        exchange.write(f"outbound/{number}.edi", one("270", eligibility(), number))
    exchange.advance(1)
    return [first, deliver(100)]


def test_cost_of_a_delivery_does_not_grow_with_what_waits() -> None:
    first, later = measure_alone(count_first_and_later_delivery)
    assert later < first + 50


@pytest.mark.parametrize("way", ["file", "http"])
def test_later_decision_is_sent_as_a_response_of_its_own(way: str) -> None:
    pending = {"match": {"procedure_code": "72148"}, "status": "approved", "delay": "2h"}
    exchange = Exchange(payer={"determinations": [pending]})
    edi = one("278", authorization("PA1E"))
    if way == "file":
        exchange.write("outbound/pa.edi", edi)
        exchange.advance(20)
    else:
        assert "HCR*A4" in exchange.clearing.send(edi)
    [first] = exchange.clearing.transactions("278", "PA1E")[1:]
    exchange.advance(130)
    [_, _, second] = exchange.clearing.transactions("278", "PA1E")
    assert (second["outcome"], second["request"]) == ("answer", first["request"])
    assert "HCR*A1*" in exchange.clearing.transaction(second["id"])["edi"]
    replies = exchange.clearing.interchange("1")["replies"]
    assert parse_interchanges(replies[-1]["edi"])[0].problems == []
    decisions = [path for path in exchange.inbound() if ".decision." in path]
    assert decisions == (["inbound/pa.000000003.decision.edi"] if way == "file" else [])
    assert exchange.kinds("clearing").count("x12.authorization.answered") == 2


def test_step_that_only_schedules_a_decision_sends_nothing_yet() -> None:
    exchange = Exchange(payer={"determinations": [{"match": {"procedure_code": "72148"}, "status": "pending"}]})
    exchange.clearing.send(one("278", authorization()))
    payer = exchange.playground.components["payer"].state
    assert isinstance(payer, PayerState)
    rule = Determination.model_validate({"status": "approved", "delay": "2h"})
    payer.set_determination(exchange.playground.context_for("payer", "scenario"), rule)
    assert exchange.kinds("clearing").count("x12.authorization.answered") == 1
    exchange.advance(130)
    [*_, last] = exchange.clearing.transactions("278")
    assert "HCR*A1*" in exchange.clearing.transaction(last["id"])["edi"]
    assert exchange.kinds("clearing").count("x12.authorization.answered") == 2


def test_decision_at_once_is_sent_once() -> None:
    exchange = Exchange()
    exchange.clearing.send(one("278", authorization()))
    exchange.advance(1000)
    assert exchange.kinds("clearing").count("x12.authorization.answered") == 1
