"""A document of a fax that a step lets arrive: a filled template, text, or a file."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, JsonValue, ValidationError, model_validator

from clerkship.formats.fax_pages.conversion import convert, detect_format
from clerkship.formats.fax_pages.document import FaxDocument, UnreadableDocument
from clerkship.formats.fax_pages.page import Resolution
from clerkship.formats.fax_pages.text_pages import render_text
from clerkship.model.errors import InputError
from clerkship.model.frozen import Base64Text, Frozen
from clerkship.model.names import did_you_mean
from clerkship.simulators.fax.outgoing import IncomingDocument, IncomingPage
from clerkship.simulators.fax.templates.registry import TEMPLATES

MAX_PROBLEMS = 5
"""Problems of fields that one message lists."""
SOURCES = ("template", "text", "base64")


def check_template(name: str | None) -> str | None:
    """Return the name of a template; raise ValueError if there is none."""
    if name is not None and name not in TEMPLATES:
        hint = did_you_mean(name, TEMPLATES) or f"templates: {', '.join(sorted(TEMPLATES))}"
        raise ValueError(f"unknown template `{name[:60]}`; {hint}")
    return name


class DocumentSource(Frozen):
    """Where the pages of a document come from."""

    template: Annotated[
        Annotated[str, AfterValidator(check_template)] | None,
        Field(description="name of a template, such as referral_letter, that `fields` fills"),
    ] = None
    fields: Annotated[dict[str, JsonValue], Field(description="the fields of the template")] = {}
    text: Annotated[str | None, Field(description="plain text, instead of a template; a form feed starts a page")] = (
        None
    )
    base64: Annotated[
        Base64Text | None,
        Field(description="a PDF, TIFF, PNG or JPEG file in base64, instead of a template"),
    ] = None

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if self.fields and self.template is None:
            raise ValueError("`fields` needs a `template`")
        if self.template is not None and not _has_placeholder(self.fields):
            try:
                TEMPLATES[self.template].fields.model_validate(self.fields)
            except ValidationError as error:
                raise ValueError(f"fields of {self.template}: {_list_problems(error)}") from None
        return self

    @property
    def given_sources(self) -> list[str]:
        """The names of the sources that are given; exactly one is needed."""
        return [name for name in SOURCES if getattr(self, name) is not None]

    def build(self, name: str, seed: str, resolution: Resolution) -> IncomingDocument:
        """Draw the pages. Raises InputError if a file cannot be converted."""
        if self.template is not None:
            drawn: Sequence[Any] = TEMPLATES[self.template].draw_values(self.fields, seed, resolution)
            return IncomingDocument(name=name or self.template, pages=_list_pages(drawn))
        try:
            if self.text is not None:
                return IncomingDocument(name=name or "text", pages=_list_pages(render_text(self.text, resolution)))
            data = base64.b64decode(self.base64 or "")
            format = detect_format(name, "", data)
            document = FaxDocument(name=name, format=format, data=data)
            pages = tuple(IncomingPage(page=each.page, words=each.words) for each in convert(document, resolution))
            return IncomingDocument(name=name, format=format, pages=pages)
        except UnreadableDocument as error:
            raise InputError.of(f"fax.receive: {name or 'document'}: {error.reason}") from None


class StepDocument(DocumentSource):
    """One of several documents that arrive in one fax."""

    name: Annotated[str, Field(max_length=255, description="its name, for reports; the agent does not see it")] = ""

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if len(self.given_sources) != 1:
            given = f", not {' and '.join(self.given_sources)}" if self.given_sources else ""
            raise ValueError(f"expected one of `template`, `text` and `base64`{given}")
        return self


def _list_pages(drawn: Sequence[Any]) -> tuple[IncomingPage, ...]:
    return tuple(IncomingPage(page=page, words=words) for page, words in drawn)


def _has_placeholder(value: JsonValue) -> bool:
    """Return whether a value is to be filled when the task is loaded, so that it cannot be checked yet."""
    if isinstance(value, dict):
        return any(map(_has_placeholder, value.values()))
    if isinstance(value, list):
        return any(map(_has_placeholder, value))
    return isinstance(value, str) and ("{{" in value or "${" in value)


def _list_problems(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:MAX_PROBLEMS]]
    return "; ".join(problems)
