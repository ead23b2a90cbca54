"""`fax.receive`: let a fax to the organization arrive."""

import hashlib
from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field, model_validator

from clerkship.formats.fax_pages.degradation import Degradation
from clerkship.formats.fax_pages.page import Resolution
from clerkship.model.duration import Duration
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag, Whole
from clerkship.sandbox.steps.contract import Step, StepHost
from clerkship.simulators.fax.names import OWN_NUMBER
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingFax
from clerkship.simulators.fax.state import FaxState
from clerkship.simulators.fax.steps.document import DocumentSource, StepDocument

MAX_DOCUMENTS = 20
_HEADER_LIMIT = 40
ID_PATTERN = r"^(fax_[A-Za-z0-9_]{1,40})?$"


def _check_pages(pages: tuple[int, ...]) -> tuple[int, ...]:
    if any(page < 1 for page in pages):
        raise ValueError("pages are counted from 1")
    return pages


class ReceiveFax(Step, DocumentSource):
    """Let a fax arrive: a template filled with `fields`, text, a file of a dataset, or several `documents` in one fax.
    With `reply_after` it is the answer of the sender: it arrives after a fax of the agent to that number was delivered.
    """

    name: ClassVar[str] = "fax.receive"
    simulator: ClassVar[str | None] = "fax"
    text_files: ClassVar[Mapping[str, str]] = {"text_file": "text"}
    dataset_files: ClassVar[Mapping[str, tuple[str, str]]] = {"file": ("dataset", "base64")}
    sender: Annotated[str, Field(alias="from", description="the number that it comes from, of a contact or any other")]
    id: Annotated[
        str,
        Field(
            pattern=ID_PATTERN,
            description="its id, such as fax_0302, so that criteria can name it; a new one by default",
        ),
    ] = ""
    to: Annotated[str, OWN_NUMBER, Field(description="own number that it arrives at; the first by default")] = ""
    text_file: Annotated[
        str | None, Field(description="a text file beside the task's, its templates filled in, instead of `text`")
    ] = None
    dataset: Annotated[str | None, Field(description="a dataset of type files that `file` is in")] = None
    file: Annotated[str | None, Field(description="a PDF, TIFF, PNG or JPEG file of the dataset, by its path")] = None
    documents: Annotated[
        tuple[StepDocument, ...],
        Field(max_length=MAX_DOCUMENTS, description="several documents, one after the other, in one fax"),
    ] = ()
    missing_pages: Annotated[
        tuple[Whole, ...],
        AfterValidator(_check_pages),
        Field(description="numbers of pages, from 1, that are lost on the way; the others keep their numbers"),
    ] = ()
    resolution: Annotated[Resolution, Field(description="standard (204×98) or fine (204×196)")] = "fine"
    degradation: Annotated[
        Degradation | None, Field(description="how bad the line or the machine is; as the config says by default")
    ] = None
    header: Annotated[
        str | None,
        Field(
            max_length=_HEADER_LIMIT,
            description="the sender's name in the line at the top; the name of the contact by default",
        ),
    ] = None
    has_header: Annotated[Flag, Field(description="false if the sender's machine prints no line at the top")] = True
    seed: Annotated[
        str, Field(description="varies signatures, notes and noise; by default they follow from the other fields")
    ] = ""
    reply_after: Annotated[
        Duration | None,
        Field(
            description="let it arrive this long after the agent's fax to the sender's number; each fax of the agent "
            "lets the next such step happen"
        ),
    ] = None
    sandbox: Annotated[str | None, Field(description="which sandbox; the only one if not given")] = None

    @model_validator(mode="after")
    def _check_sources(self) -> Self:
        sources = [*self.given_sources, *(name for name in ("text_file", "file", "documents") if getattr(self, name))]
        if len(sources) != 1:
            listing = f", not {' and '.join(sources)}" if sources else ""
            expected = "`template`, `text`, `text_file`, `base64`, `documents`, and `dataset` with `file`"
            raise ValueError(f"expected one of {expected}{listing}")
        if (self.dataset is None) != (self.file is None):
            raise ValueError("`dataset` and `file` go together: the name of a dataset, and a path in it")
        return self

    def run(self, host: StepHost) -> None:
        """Let the fax arrive, or plan it as an answer."""
        state, action = host.state(FaxState, self.sandbox)
        fax = self._build()
        if self.reply_after is None:
            state.receive(action, fax)
        else:
            state.plan_reply(action, fax, self.reply_after)

    def _build(self) -> IncomingFax:
        unread = self.text_file or self.file
        if unread is not None:
            raise InputError.of(f"{unread} cannot be read: this task was not loaded from a file")
        seed = self.seed or self._derive_seed()
        sources = self.documents or (self,)
        documents = tuple(
            source.build(source.name if isinstance(source, StepDocument) else "", f"{seed}/{number}", self.resolution)
            for number, source in enumerate(sources, 1)
        )
        self._check_missing(documents)
        return IncomingFax(
            id=self.id,
            sender=self.sender,
            to=self.to,
            documents=documents,
            missing_pages=self.missing_pages,
            header_text=self.header,
            has_header=self.has_header,
            degradation=self.degradation,
            seed=seed,
        )

    def _derive_seed(self) -> str:
        """Return a seed that is the same in each trial, so that the pages are, too, and their OCR texts are known."""
        content = self.model_dump_json(exclude={"id", "sandbox", "to", "reply_after"})
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def _check_missing(self, documents: tuple[IncomingDocument, ...]) -> None:
        count = sum(len(document.pages) for document in documents)
        wrong = [page for page in self.missing_pages if page > count]
        if wrong:
            raise InputError.of(f"fax.receive: missing_pages has {wrong[0]}, but the fax has {count} pages")
        if len(set(self.missing_pages)) == count:
            raise InputError.of("fax.receive: missing_pages has all pages; leave at least one")
