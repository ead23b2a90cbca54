"""The wire format of Protocol Buffers, as far as OTLP needs it: read fields by their tags, and write fields."""

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types. A tag is the number of a field times 8, plus its wire type."""
MAX_VARINT_BYTES = 10


class BadProtobuf(ValueError):
    """The bytes are not a message in the wire format."""


def read_fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the tag of each field, its number, and its bytes; the one that its wire type does not have is empty.

    A field with another wire type than expected has another tag, so it is an unknown field, as the format demands.
    """
    position, end = 0, len(data)
    while position < end:
        tag = data[position]
        position += 1
        if tag >= 0x80:
            tag, position = _read_varint(data, position - 1)
        wire_type = tag & 7
        if wire_type == LENGTH:
            size = data[position] if position < end else 0x80
            position += 1
            if size >= 0x80:
                size, position = _read_varint(data, position - 1)
            start, position = position, position + size
            if position > end:
                raise BadProtobuf(f"field {tag >> 3} has {size} bytes, but the message ends after {end - start}")
            yield tag, 0, data[start:position]
        elif wire_type == VARINT:
            number, position = _read_varint(data, position)
            yield tag, number, b""
        elif wire_type in (FIXED64, FIXED32):
            start, position = position, position + (8 if wire_type == FIXED64 else 4)
            if position > end:
                raise BadProtobuf(f"the message ends inside field {tag >> 3}")
            yield tag, int.from_bytes(data[start:position], "little"), b""
        else:
            raise BadProtobuf(f"field {tag >> 3} has the unknown wire type {wire_type}")


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    number = 0
    for index, byte in enumerate(data[position : position + MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return number & 0xFFFF_FFFF_FFFF_FFFF, position + index + 1
    raise BadProtobuf("the message ends inside a number, or has one of more than 64 bits")


def to_signed(number: int) -> int:
    """Return a number of 64 bits as int64."""
    return number - (1 << 64) if number >> 63 else number


def write_varint(number: int) -> bytes:
    """Return a number as a varint; a negative one as int64."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    parts = bytearray()
    while number >= 0x80:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def write_number(field: int, number: int) -> bytes:
    """Return a field with a varint."""
    return write_varint(field << 3 | VARINT) + write_varint(number)


def write_fixed64(field: int, number: int) -> bytes:
    """Return a field with an unsigned number of eight bytes."""
    return write_varint(field << 3 | FIXED64) + number.to_bytes(8, "little")


def write_bytes(field: int, data: bytes) -> bytes:
    """Return a field with bytes or a message."""
    return write_varint(field << 3 | LENGTH) + write_varint(len(data)) + data


def write_text(field: int, text: str) -> bytes:
    """Return a field with text."""
    return write_bytes(field, text.encode(errors="replace"))
