"""Measures how long a client waits while another's long message is validated; run in its own interpreter."""

import pytest

from tests.simulators.hl7.feed import Feed, frame_bytes, message, read_msa
from tests.simulators.hl7.test_mllp_bad_input import still_serves
from tests.waiting import wait_until


@pytest.mark.parametrize("segments", [19_000, 1_200_000])
def test_other_clients_are_served_while_long_message_is_validated(feed: Feed, segments: int) -> None:
    heavy, other = feed.lab(), feed.lab()
    still_serves(other)
    with heavy.connect() as long, other.connect() as connection:
        long.send(frame_bytes(message(heavy.facility) + b"ZZZ\r" * segments))
        number = 0
        wait_until(lambda: bool(feed.listener.tcp.ports[""].connections))
        while not heavy.kinds():
            number += 1
            assert read_msa(connection.ask(message(other.facility, control_id=str(number))))[0] == "AA"
        ack = long.answer()
    assert number > 2
    assert ack.value("MSA.1") == ("AA" if segments < 20_000 else "AR")
    assert ack.value("MSA.1") == "AA" or "100000 lines" in (ack.value("ERR.8") or "")
