"""Files that are small, and large when they are decoded."""

import struct
import zlib

from tests.formats.fax_pages.pdfs import BOX, one_page, stream

FORM = b"/Type/XObject/Subtype/Form/BBox[0 0 612 792]"


def png(width: int, height: int, *, bits: int = 8, color: int = 0, before: bytes = b"") -> bytes:
    """Return a PNG file of zeros. `before` are chunks in front of the picture."""
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    squeezer = zlib.compressobj(1)
    line = bytes(1 + (width * bits * channels + 7) // 8)
    # No more than a picture that may be sent has: what claims to be larger is cut off.
    lines = min(height, 200_000_000 // len(line))
    data = b"".join(squeezer.compress(line) for _ in range(lines)) + squeezer.flush()
    chunks = png_chunk(b"IHDR", header) + before + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_with_text(size: int) -> bytes:
    """Return a PNG file with a compressed text of so many bytes."""
    return png(8, 8, before=png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(size), 9)))


def tiff(
    width: int, height: int, strip: bytes = b"\0" * 16, *, claimed: int | None = None, following: int = 0
) -> bytes:
    """Return a TIFF file of one page in Group 4. `claimed` is the size of the strip by its field."""
    strip = bytes(16)
    fields = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, 1, 1),
        (259, 3, 1, 4),
        (262, 3, 1, 0),
        (273, 4, 1, 8 + 2 + 9 * 12 + 4),
        (277, 3, 1, 1),
        (278, 4, 1, height),
        (279, 4, 1, len(strip) if claimed is None else claimed),
    ]
    directory = struct.pack("<H", len(fields)) + b"".join(struct.pack("<HHII", *field) for field in fields)
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", following) + strip


def jpeg(width: int, height: int) -> bytes:
    """Return the header of a JPEG file."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"


def pdf_with_image(width: int, height: int) -> bytes:
    """Return a PDF page that draws one grey image."""
    size = b"/Width %d/Height %d" % (width, height)
    entries = b"/Type/XObject/Subtype/Image/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/FlateDecode"
    image = stream(zlib.compress(bytes(1000), 9), entries + size)
    return one_page(b"600 0 0 700 0 0 cm /I Do", image, entries=b"/Resources<</XObject<</I 5 0 R>>>>")


def pdf_with_nested_forms(levels: int, times: int) -> bytes:
    """Return a PDF page whose form draws a form several times, which draws a form several times, and so on."""
    bodies = [
        stream(b"/F Do " * times, FORM + b"/Resources<</XObject<</F %d 0 R>>>>" % (number + 1))
        for number in range(5, 5 + levels)
    ]
    return one_page(b"/F Do", *bodies, stream(BOX, FORM), entries=b"/Resources<</XObject<</F 5 0 R>>>>")


def pdf_with_itself() -> bytes:
    """Return a PDF page whose form draws itself."""
    form = stream(b"/F Do /F Do", FORM + b"/Resources<</XObject<</F 5 0 R>>>>")
    return one_page(b"/F Do", form, entries=b"/Resources<</XObject<</F 5 0 R>>>>")


def pdf_with_squeezed_content(size: int) -> bytes:
    """Return a PDF page whose content has so many bytes, compressed twice."""
    squeezer = zlib.compressobj(1)
    block = b"0 0 m 600 700 l S " * 1000
    once = b"".join(squeezer.compress(block) for _ in range(size // len(block))) + squeezer.flush()
    content = stream(zlib.compress(once, 9), b"/Filter[/FlateDecode/FlateDecode]")
    return one_page(b"", content).replace(b"/Contents 4 0 R", b"/Contents 5 0 R")


def pdf_with_fine_pattern() -> bytes:
    """Return a PDF page that is filled with a pattern of tiny steps."""
    steps = b"/BBox[0 0 1 1]/XStep 0.0001/YStep 0.0001/Resources<<>>"
    pattern = stream(b"0 0 1 1 re f", b"/Type/Pattern/PatternType 1/PaintType 1/TilingType 1" + steps)
    return one_page(b"/Pattern cs /P scn 0 0 612 792 re f", pattern, entries=b"/Resources<</Pattern<</P 5 0 R>>>>")
