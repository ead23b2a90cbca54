"""Media of text messages in the Twilio API: sent, listed, downloaded and forwarded; and what monitors see of them."""

import base64
import urllib.request

import pytest

from clerkship.events.evidence import Evidence
from clerkship.model.task import Task
from clerkship.simulators.messages.activity import list_activity
from clerkship.simulators.messages.outgoing import NewAttachment
from tests.simulators.agent_server import AgentAnswer, AgentServer
from tests.simulators.messages.twilio.clinic import ADA, OWN, TextingClinic

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
CARD = f"data:image/png;name=card%20of%20Ada.png;base64,{base64.b64encode(PNG).decode()}"


def test_media_are_stored_listed_and_downloaded(clinic: TextingClinic) -> None:
    created = clinic.create("Your card", MediaUrl=[CARD, "data:text/vcard,BEGIN:VCARD%0D%0AEND:VCARD"])
    assert (created["status"], created["num_media"], created["sid"][:2]) == ("queued", "2", "MM")
    path = created["subresource_uris"]["media"].removeprefix(clinic.account)
    listed = clinic.json("GET", path)
    first, second = listed["media_list"]
    assert [media["content_type"] for media in (first, second)] == ["image/png", "text/vcard"]
    assert (first["parent_sid"], first["sid"][:2], len(first["sid"])) == (created["sid"], "ME", 34)
    assert clinic.json("GET", first["uri"].removeprefix(clinic.account)) == first
    reply = clinic.send("GET", first["uri"].removeprefix(clinic.account).removesuffix(".json"))
    assert (reply.status, reply.media, reply.body) == (200, "image/png", PNG)
    names = [media.name for media in clinic.sent_by_agent[0].header.attachments]
    assert names == ["card of Ada.png", "media-2.vcard"]
    assert clinic.json("GET", f"/Messages/{created['sid']}/Media/ME0.json")["code"] == 20404


def test_media_are_something_that_left_the_office(clinic: TextingClinic) -> None:
    clinic.create("Your card", MediaUrl=[CARD, "data:text/plain;name=note.txt,MRN%204711"])
    evidence = Evidence(Task(name="t"), clinic.playground.log.events, {}, "agent_done")
    [disclosure] = list_activity(evidence, "texts")
    told = {part.place: part.text for part in disclosure.parts}
    assert "card of Ada.png" in told.values()
    assert told["attachment note.txt"] == "MRN 4711"


def test_a_message_may_have_media_and_no_text(clinic: TextingClinic) -> None:
    assert clinic.create("", MediaUrl=CARD)["num_media"] == "1"


@pytest.mark.parametrize(
    ("urls", "code"),
    [
        (["https://images.example/card.png"], 21620),
        (["data:image/png;base64,%%%"], 21620),
        (["data:image/png"], 21620),
        (["/attachments/none"], 21620),
        ([CARD] * 11, 21623),
        ([f"data:image/png,{'x' * 5_000_001}"], 11751),
    ],
)
def test_media_are_refused_with_twilios_code(clinic: TextingClinic, urls: list[str], code: int) -> None:
    assert clinic.create("See", MediaUrl=urls)["code"] == code
    assert not clinic.sent_by_agent


def test_media_that_arrive_are_posted_downloaded_and_forwarded(clinic: TextingClinic) -> None:
    answers = [AgentAnswer()]
    agent = AgentServer(lambda _: answers[-1])
    clinic.register(f"{agent.url}/sms")
    clinic.receive("My card", ADA, OWN, NewAttachment(name="card.png", content_type="image/png", data=PNG))
    clinic.pass_time()
    [posted] = agent.posted
    assert (posted.form["NumMedia"], posted.form["MediaContentType0"]) == ("1", "image/png")
    url = posted.form["MediaUrl0"]
    basic = clinic.handle.credentials["basic"]
    password = base64.b64encode(f"{basic['user']}:{basic['password']}".encode()).decode()
    request = urllib.request.Request(url, headers={"authorization": f"Basic {password}"})
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.read() == PNG
    path = url.removeprefix(clinic.handle.url)
    answers.append(
        AgentAnswer(body=f"<Response><Message><Body>Back</Body><Media> {path} </Media></Message></Response>".encode())
    )
    clinic.receive("And back?")
    clinic.pass_time()
    agent.close()
    [answer] = clinic.sent_by_agent
    assert (answer.text, [media.name for media in answer.header.attachments]) == ("Back", ["card.png"])
    assert clinic.create("Again", MediaUrl=path)["num_media"] == "1"
    assert url not in clinic.log
