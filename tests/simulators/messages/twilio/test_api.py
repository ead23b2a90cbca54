"""The Twilio API: sending, listing and fetching text messages, and refusals in Twilio's words."""

import http.client
from urllib.parse import urlsplit

import orjson
import pytest

from clerkship.checks.conformance.checks import check_simulator
from clerkship.simulators.messages import SPEC
from tests.simulators.messages.twilio.clinic import ADA, GONE, LAND, OWN, TextingClinic


def test_the_twilio_routes_conform() -> None:
    assert check_simulator(SPEC)


def test_a_message_is_created_queued_and_later_delivered(clinic: TextingClinic) -> None:
    reply = clinic.send("POST", "/Messages.json", {"To": ADA, "From": OWN, "Body": "Hi"})
    created = orjson.loads(reply.body)
    assert reply.status == 201
    assert (created["status"], created["to"], created["from"], created["body"]) == ("queued", ADA, OWN, "Hi")
    assert (created["num_segments"], created["num_media"], created["direction"]) == ("1", "0", "outbound-api")
    assert created["date_sent"] is None
    assert created["date_created"].endswith(" +0000")
    clinic.pass_time()
    assert clinic.json("GET", f"/Messages/{created['sid']}.json")["status"] == "delivered"


@pytest.mark.parametrize(
    ("form", "code"),
    [
        ({"From": OWN, "Body": "x"}, 21604),
        ({"To": "banana", "From": OWN, "Body": "x"}, 21211),
        ({"To": ADA, "Body": "x"}, 21603),
        ({"To": ADA, "From": "+15550199999", "Body": "x"}, 21659),
        ({"To": ADA, "From": OWN}, 21602),
        ({"To": ADA, "From": OWN, "Body": "x" * 1601}, 21617),
        ({"To": GONE, "From": OWN, "Body": "x"}, 21610),
        ({"To": ADA, "MessagingServiceSid": "MG1", "Body": "x"}, 21701),
        ({"To": ADA, "From": OWN, "MediaUrl": "http://x.example/a.png"}, 21620),
        ({"To": ADA, "From": OWN, "Body": "x", "StatusCallback": "not a url"}, 21609),
        ({"To": ADA, "From": OWN, "Body": "x", "StatusCallback": "http://192.0.2.1/x"}, 21609),
    ],
)
def test_a_message_is_refused_with_twilios_code(clinic: TextingClinic, form: dict[str, str], code: int) -> None:
    refused = clinic.json("POST", "/Messages.json", form)
    assert (refused["code"], refused["status"]) == (code, 400)
    assert refused["more_info"].endswith(str(code))
    assert not clinic.sent_by_agent


def test_a_number_that_sent_stop_is_refused_until_it_sends_start(clinic: TextingClinic) -> None:
    clinic.receive("STOP")
    assert clinic.create()["code"] == 21610
    clinic.receive("START")
    assert clinic.create()["status"] == "queued"


def test_a_message_to_a_landline_is_undelivered_with_an_error_code(clinic: TextingClinic) -> None:
    sid = clinic.create(to=LAND)["sid"]
    clinic.pass_time()
    message = clinic.json("GET", f"/Messages/{sid}.json")
    assert (message["status"], message["error_code"]) == ("undelivered", 30006)


def test_pages_of_the_list_cover_all_messages_once_and_the_newest_first(clinic: TextingClinic) -> None:
    sids = [clinic.create(str(number))["sid"] for number in range(5)]
    listed, uri = [], "/Messages.json?PageSize=2"
    while uri:
        path, _, query = uri.partition("?")
        pairs = dict(pair.split("=") for pair in query.split("&"))
        page = clinic.json("GET", path.removeprefix(clinic.account), query=pairs)
        listed += [message["sid"] for message in page["messages"]]
        uri = page["next_page_uri"]
    assert listed == sids[::-1]


def test_the_list_is_filtered_by_numbers_and_date(clinic: TextingClinic) -> None:
    sent, arrived = clinic.create()["sid"], clinic.receive("Thanks")
    clinic.pass_time()

    def list_sids(**query: str) -> list[str]:
        return [message["sid"] for message in clinic.json("GET", "/Messages.json", query=query)["messages"]]

    today = clinic.playground.now.date().isoformat()
    assert list_sids(To=ADA) == [sent]
    assert list_sids(From=ADA) == [arrived]
    assert list_sids(DateSent=today) == list_sids(DateSent=f"{today}T00:00:00Z") == [arrived, sent]
    assert list_sids(**{"DateSent<": "2020-01-01"}) == []
    assert list_sids(**{"DateSent>": today}) == [arrived, sent]
    assert clinic.json("GET", "/Messages.json", query={"DateSent": "soon"})["code"] == 20001


def test_deleted_message_is_gone_at_twilio_and_kept_by_the_organization(clinic: TextingClinic) -> None:
    sid, other = clinic.create()["sid"], clinic.create("Other")["sid"]
    path = f"/Messages/{sid}.json"
    assert clinic.json("DELETE", path)["code"] == 20009
    clinic.pass_time()
    reply = clinic.send("DELETE", path)
    assert (reply.status, reply.body) == (204, b"")
    assert clinic.json("GET", path)["code"] == clinic.json("DELETE", path)["code"] == 20404
    assert [each["sid"] for each in clinic.json("GET", "/Messages.json")["messages"]] == [other]
    assert clinic.handle.read(sid)["text"] == "Hello"  # type: ignore[attr-defined]
    assert [sent.text for sent in clinic.sent_by_agent] == ["Hello", "Other"]
    copy = clinic.playground.build_copy(clinic.playground.log.events)
    assert copy.sandboxes["texts"].state.dump() == clinic.state.dump()


def test_text_of_a_message_is_deleted_by_an_empty_body(clinic: TextingClinic) -> None:
    path = f"/Messages/{clinic.create()['sid']}.json"
    assert clinic.json("POST", path, {"Body": ""})["code"] == 20009
    clinic.pass_time()
    assert clinic.json("POST", path, {"Body": ""})["body"] == clinic.json("GET", path)["body"] == ""
    assert clinic.send("DELETE", path).status == 204


def test_messages_are_not_changed_or_canceled(clinic: TextingClinic) -> None:
    path = f"/Messages/{clinic.create()['sid']}.json"
    assert clinic.json("POST", path, {"Status": "canceled"})["code"] == 30409
    assert clinic.json("POST", path, {"Body": "Another"})["code"] == 30400
    assert clinic.json("GET", path)["body"] == "Hello"


@pytest.mark.parametrize("url", ["not a url", "tcp://127.0.0.1:9", "http://192.0.2.1/x"])
def test_refused_sms_url_has_twilios_code(clinic: TextingClinic, url: str) -> None:
    assert clinic.register(url)["code"] == 21402


def test_resources_that_are_not_simulated_are_refused_in_twilios_words(clinic: TextingClinic) -> None:
    assert clinic.json("POST", "/Calls.json", {"To": ADA})["code"] == 20404
    assert clinic.json("GET", f"/Messages/SM{'0' * 32}.json")["code"] == 20404


def test_basic_authentication_takes_the_account_sid_and_the_token(clinic: TextingClinic) -> None:
    basic = clinic.handle.credentials["basic"]
    assert basic == {"user": clinic.config.account_sid, "password": clinic.handle.token}
    url = urlsplit(clinic.handle.url)
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.request("GET", f"{url.path}{clinic.account}.json")
    response = connection.getresponse()
    assert (response.status, orjson.loads(response.read())["code"]) == (401, 20003)
    connection.close()
