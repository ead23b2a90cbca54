"""The true words of a page are for criteria: the agent gets only its dots."""

import re
from functools import reduce

import orjson
import pytest

from clerkship.events.event import Event
from clerkship.formats.fax_pages.page import PageWord, PageWords
from clerkship.sandbox.request import Reply, Request
from clerkship.sandbox.tools import build_tools
from clerkship.simulators.fax import SPEC
from tests.simulators.fax.clinic import LAB, FaxClinic

SECRET = "Xylophonequartz"
"""A word that is on the pages only; the PDF and TIFF files are compressed pictures, so it is not in their bytes."""


def check_reply(reply: Reply) -> None:
    text = b"".join((reply.body, repr(dict(reply.headers)).encode(), reply.answer.encode()))
    assert SECRET.lower().encode() not in text.lower()
    assert re.search(rb"true_words|PageWord", text) is None


def list_requests(clinic: FaxClinic, id: str) -> list[Request]:
    """Return a request for each route, with the id of a fax and without input."""
    values = {"{id}": id, "{page}": "1", "{project}": clinic.state.config.project}
    paths = {
        (route.method, reduce(lambda path, name: path.replace(name, values[name]), values, route.path))
        for route in SPEC.routes
    }
    return [
        Request(method, path, query)
        for method, path in sorted(paths)
        if method in ("GET", "POST")
        for query in ({}, {"format": "tiff"}, {"address": LAB}, {"unread": "true"})
    ]


class OtherTexts(dict[str, PageWords]):
    """The OCR text of every page, which is not its true text."""

    def __missing__(self, hash: str) -> PageWords:
        return PageWords(words=(PageWord(text="unreadable", left=0, top=0, width=9, height=9),))

    def get(self, hash: str, default: object = None) -> PageWords:
        return self[hash]


@pytest.mark.parametrize("is_degraded", [True, False])
def test_no_route_shows_the_true_words_of_a_fax_that_arrived(is_degraded: bool) -> None:
    with FaxClinic(texts=OtherTexts()) as clinic:
        id = clinic.receive(f"{SECRET}\f{SECRET}", degradation={"noise": 2} if is_degraded else {})
        for request in list_requests(clinic, id):
            check_reply(clinic.rig.send(request))
        assert clinic.handle.read_page_text(id, 1) == "unreadable"
        content = clinic.handle.download(id, "tiff")
        sent = clinic.handle.send(LAB, files={"a.tiff": content})
        assert SECRET not in str(sent)
        for request in list_requests(clinic, sent["id"]):
            check_reply(clinic.rig.send(request))


def test_no_tool_shows_the_true_words() -> None:
    with FaxClinic(texts=OtherTexts()) as clinic:
        id = clinic.receive(SECRET)
        tools = build_tools("fax", SPEC.routes, SPEC.operations)
        assert len(tools) >= 8
        for tool in tools:
            values = {"id": id, "page": 1, "documents": [{"text": "x"}]}
            arguments = {name: values[name] for name in tool.parameters["required"]}
            check_reply(clinic.rig.send(tool.build_request(arguments)))
            assert "true" not in orjson.dumps(tool.parameters).decode().replace("true to", "").replace("true for", "")


def test_only_events_of_pages_have_true_words() -> None:
    with FaxClinic(texts=OtherTexts()) as clinic:
        id = clinic.receive(SECRET)
        clinic.handle.pages(id)
        clinic.handle.delete_content(id)
        clinic.rig.send(Request("GET", f"/faxes/{id}/content"))

        def has_words(event: Event) -> bool:
            return SECRET in str(event.payload)

        assert len(clinic.events) == 4
        assert {event.kind for event in clinic.events if has_words(event)} == {"fax.page.stored"}
