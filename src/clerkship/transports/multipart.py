"""Parse `multipart/form-data` (RFC 7578), as browsers and upload clients send files."""

import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clerkship.sandbox.request import Refusal, Request

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FORM = "multipart/form-data"
MAX_PARTS = 200
_PATH_SEPARATORS = re.compile(r"[\\/]")
logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it warns about malformed forms, which are refused


@dataclass(frozen=True, slots=True)
class FormPart:
    """One field or file of a form."""

    name: str
    data: bytes
    filename: str | None = None
    """The name of the file without folders; None for a field that is not a file."""
    media: str = "text/plain"

    @property
    def text(self) -> str:
        """The data as text. Raise Refusal if it is not UTF-8."""
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            raise _build_malformed_refusal(f"the part `{self.name}` is not UTF-8") from None


def parse_form(request: Request, max_parts: int = MAX_PARTS) -> tuple[FormPart, ...]:
    """Return the parts of a form, in order.

    Raise Refusal: 415 for another media type, 413 for too many parts, 400 for a malformed form. The HTTP server
    limits the size of the body.
    """
    import python_multipart.multipart as library  # noqa: PLC0415  (only for requests that send files)
    from python_multipart.exceptions import FormParserError  # noqa: PLC0415

    media, options = library.parse_options_header(request.headers.get("content-type", ""))
    if media != FORM.encode():
        raise Refusal(415, "unsupported_media_type", f"the body must be {FORM}")
    boundary = options.get(b"boundary", b"")
    if not boundary:
        raise _build_malformed_refusal("the Content-Type has no boundary")
    collector = _PartCollector(max_parts)
    try:
        parser = library.MultipartParser(boundary, collector.callbacks())
        parser.write(request.body)
        parser.finalize()
    except FormParserError as error:
        raise _build_malformed_refusal(str(error)) from None
    if not collector.ended:
        raise _build_malformed_refusal("it ends before its last boundary")
    return tuple(_build_part(headers, data) for headers, data in collector.parts)


def _build_malformed_refusal(reason: str) -> Refusal:
    return Refusal(400, "bad_form", f"the form is malformed: {reason}")


@dataclass
class _PartCollector:
    """Callbacks for the multipart parser, which collect the parts."""

    max_parts: int
    parts: list[tuple[dict[str, bytes], bytes]] = field(default_factory=list)
    ended: bool = False
    _headers: dict[str, bytes] = field(default_factory=dict)
    _name: bytes = b""
    _value: bytes = b""
    _data: list[bytes] = field(default_factory=list)

    def callbacks(self) -> "MultipartCallbacks":
        return {
            "on_part_begin": self._begin,
            "on_part_data": self._add_data,
            "on_part_end": self._end_part,
            "on_header_field": self._add_name,
            "on_header_value": self._add_value,
            "on_header_end": self._end_header,
            "on_end": self._end,
        }

    def _begin(self) -> None:
        if len(self.parts) >= self.max_parts:
            raise Refusal(413, "too_many_parts", f"a form may have at most {self.max_parts} parts")
        self._headers, self._data = {}, []

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._data.append(data[start:end])

    def _add_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._name.decode("latin-1").lower()] = self._value
        self._name = self._value = b""

    def _end_part(self) -> None:
        self.parts.append((self._headers, b"".join(self._data)))

    def _end(self) -> None:
        self.ended = True


def _build_part(headers: dict[str, bytes], data: bytes) -> FormPart:
    import python_multipart.multipart as library  # noqa: PLC0415  (as above)

    disposition, options = library.parse_options_header(headers.get("content-disposition", b""))
    name, filename = options.get(b"name"), options.get(b"filename")
    if disposition != b"form-data" or name is None:
        raise _build_malformed_refusal("a part has no Content-Disposition with a name")
    try:
        file = None if filename is None else _PATH_SEPARATORS.split(filename.decode())[-1]
        media = headers.get("content-type", b"text/plain" if file is None else b"application/octet-stream").decode()
        return FormPart(name.decode(), data, file, media)
    except UnicodeDecodeError:
        raise _build_malformed_refusal("the headers of a part are not UTF-8") from None
