"""The XHTML of a narrative (R4 §2.4.0): well-formed, one div, and nothing that a browser would run or load."""

from typing import Any
from xml.parsers import expat

from clerkship.formats.fhir.issue import IssueCode

_XHTML = "http://www.w3.org/1999/xhtml"
_ELEMENTS = """
a abbr acronym address area b bdo big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6
hr i img kbd li map ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var
"""
_ALLOWED_ELEMENTS = frozenset(_ELEMENTS.split())
"""HTML 4.0 chapters 7 to 11 (except 9.4) and 15, links and images."""


class NarrativeError(Exception):
    """An error in a narrative: malformed ("value"), or a violated rule ("invariant")."""

    def __init__(self, code: IssueCode, text: str) -> None:
        super().__init__(text)
        self.code = code


def find_narrative_error(text: str) -> NarrativeError | None:
    """Return the error of a narrative; None if it is valid."""
    reader = _NarrativeParser()
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        return NarrativeError("value", f"not well-formed XHTML: {error}")
    except NarrativeError as error:
        return error
    return None if reader.has_content else NarrativeError("invariant", "it has no text or image (txt-2)")


def is_valid_narrative(value: Any) -> bool:
    """Return whether a text is a valid XHTML narrative."""
    return isinstance(value, str) and find_narrative_error(value) is None


class _NarrativeParser:
    """Checks elements and attributes while the text is parsed."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start_root
        self.parser.CharacterDataHandler = self._read_text
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.has_content = False

    def _refuse_doctype(self, *_: Any) -> None:
        raise NarrativeError("value", "a narrative cannot have a document type")

    def _start_root(self, name: str, attributes: dict[str, str]) -> None:
        if name != f"{_XHTML} div":
            raise NarrativeError(
                "value", f'it starts with <{name.rpartition(" ")[2]}>; expected <div xmlns="{_XHTML}">'
            )
        self.parser.StartElementHandler = self._start_element
        self._start_element(name, attributes)

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if space != _XHTML or local not in _ALLOWED_ELEMENTS:
            raise NarrativeError("invariant", f"<{local}> is not one of the basic elements of HTML (txt-1)")
        for attribute in attributes:
            if attribute.lower().startswith("on"):
                raise NarrativeError(
                    "invariant", f"the attribute {attribute} of <{local}>: scripts are not allowed (txt-1)"
                )
        if local == "img":
            self.has_content = True

    def _read_text(self, text: str) -> None:
        if not text.isspace():
            self.has_content = True
            self.parser.CharacterDataHandler = None
