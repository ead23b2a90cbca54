"""The telephone over HTTP, also with a paced clock."""

import threading
from typing import Any

import httpx

from clerkship.simulators.voice.handle import Voice
from clerkship.simulators.voice.records import PhoneCall
from tests.simulators.voice.office_phone import MENU, MENU_PROMPT, OWN, SILENT, OfficePhone
from tests.simulators.voice.served_phone import ServedPhone
from tests.waiting import wait_until


def open_client(served: ServedPhone) -> httpx.Client:
    return httpx.Client(base_url=served.phone.url, headers=served.headers, timeout=60)


def test_every_request_of_a_call_works_over_http() -> None:
    with ServedPhone() as served, open_client(served) as client:
        assert client.get("/").json()["numbers"] == [OWN]
        reply = client.post("/calls", json={"to": MENU, "from": OWN})
        assert reply.status_code == 201
        call = f"/calls/{reply.json()['id']}"
        assert client.post(f"{call}/hear").json()["heard"][-1]["text"] == MENU_PROMPT
        assert client.post(f"{call}/hold").json()["on_hold"] is True
        assert client.post(f"{call}/wait", json={"seconds": 1}).json()["heard"] == []
        assert "on_hold" not in client.post(f"{call}/resume").json()
        assert client.post(f"{call}/press", json={"digits": "1"}).status_code == 200
        assert client.post(f"{call}/say", json={"text": "four seven one one"}).status_code == 200
        assert "4, 7, 1, 1" in client.post(f"{call}/hear").text
        assert client.post(f"{call}/hang-up").json()["status"] == "ended"
        assert client.post(f"{call}/hang-up").status_code == 409
        assert client.get(call).json()["outcome"] == "completed"
        assert [each["status"] for each in client.get("/calls").json()["calls"]] == ["ended"]


def test_refusals_have_a_status_and_a_code() -> None:
    with ServedPhone() as served, open_client(served) as client:
        served.phone.dial(SILENT)
        cases: list[tuple[str, Any, int, str]] = [
            ("/calls", {"to": "x"}, 400, "bad_number"),
            ("/calls", {}, 422, "invalid_input"),
            ("/calls/none/hear", {}, 404, "no_such_call"),
            ("/calls/call-1/say", {"text": "Hello"}, 409, "not_connected"),
            ("/calls/call-1/answer", {}, 409, "not_incoming"),
        ]
        for path, body, status, code in cases:
            reply = client.post(path, json=body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)


def test_the_handle_lists_all_pages_of_calls() -> None:
    with ServedPhone() as served:
        calls = [served.phone.dial(SILENT)["id"] for _ in range(3)]
        assert [call["id"] for call in served.phone.calls(count="2")] == calls
        assert served.phone.calls(status="ended") == []


def test_hear_waits_in_wall_time_and_other_requests_go_on() -> None:
    with ServedPhone(time="paced") as served, open_client(served) as client:
        call = served.phone.dial(SILENT)
        results: list[dict[str, Any]] = []
        waiting = threading.Thread(target=lambda: results.append(listen_over_http(served, call["id"])))
        waiting.start()
        wait_until(lambda: client.get("/").json()["open_calls"] == 1)
        client.post(f"/calls/{call['id']}/hang-up")
        waiting.join(timeout=30)
        assert [result["outcome"] for result in results] == ["abandoned"]


def listen_over_http(served: ServedPhone, call: str) -> dict[str, Any]:
    with open_client(served) as client:
        result: dict[str, Any] = client.post(f"/calls/{call}/hear", json={"seconds": 50}).json()
        return result


def test_a_line_answers_in_wall_time_with_a_paced_clock() -> None:
    line = {
        "number": MENU,
        "name": "Quick",
        "ring": "50ms",
        "tree": {"name": "quick", "start": "bye", "nodes": {"bye": {"type": "end", "prompt": "Goodbye."}}},
    }
    with ServedPhone(time="paced", lines=[line]) as served:
        phone: Voice = served.phone
        call = phone.dial(MENU)
        result = phone.hear(call)
        assert (result["status"], [part["text"] for part in result["heard"]]) == ("ended", ["Goodbye."])


class SearchlessDict(dict[str, PhoneCall]):
    """A dictionary whose values are found by their key alone."""

    def values(self) -> Any:
        raise AssertionError("all calls were looked at")


def test_open_calls_are_listed_in_pages_without_a_look_at_those_that_ended() -> None:
    with OfficePhone() as phone:
        calls = [phone.dial(SILENT) for _ in range(6)]
        for ended in (calls[0], calls[3]):
            phone.act(ended, "hang-up")
        phone.state.calls.by_id = SearchlessDict(phone.state.calls.by_id)
        first = phone.get("/calls", status="ringing", count="2")
        assert [call["id"] for call in first["calls"]] == calls[1:3]
        rest = phone.get("/calls", status="ringing", count="5", after=first["next"])
        assert [call["id"] for call in rest["calls"]] == calls[4:]
        assert phone.get("/calls", status="ringing", after=calls[3]) == rest  # also after a call that has ended
        assert phone.get("/calls", status="connected") == {"calls": []}
