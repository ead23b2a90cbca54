"""What the agent told in faxes."""

from collections.abc import Iterator

from clerkship.events.evidence import Evidence
from clerkship.model.conversation_key import normalize_any_address
from clerkship.sandbox.activity import Disclosure, TextPart
from clerkship.simulators.fax.assertions.logged import LoggedFax, list_sent_faxes
from clerkship.simulators.fax.assertions.page_search import PageReader, open_reader
from clerkship.simulators.fax.records import FaxStatus

FAILED: frozenset[FaxStatus] = frozenset({"busy", "no_answer", "failed", "partial"})


def list_activity(evidence: Evidence, sandbox: str) -> Iterator[Disclosure]:
    """Yield each fax that the agent sent, whatever became of it. Pages without known words are read by OCR."""
    reader = open_reader(evidence)
    for fax in list_sent_faxes(evidence, sandbox):
        recipients = (normalize_any_address(fax.header.to),)
        texts, has_failed = tuple(_list_texts(reader, fax)), fax.status in FAILED
        yield Disclosure(fax.event, "fax", recipients, texts, "treatment", has_failed=has_failed)


def _list_texts(reader: PageReader, fax: LoggedFax) -> Iterator[TextPart]:
    header, source = fax.header, fax.event.source
    for page in fax.pages:
        yield TextPart(page.caption, reader.read(source, page).words.text)
        for turned in reader.read_turned(source, page):
            yield TextPart(f"{page.caption}, turned", turned.words.text)
    yield from (TextPart("name of a document", part.name) for part in header.parts if part.name)
    yield from (TextPart(f"label {name}", f"{name} {value}") for name, value in header.labels.items())
