"""The cover sheet of any fax."""

from typing import Annotated

from pydantic import Field

from clerkship.formats.fax_pages.fonts import FontStyle
from clerkship.formats.fax_pages.handwriting import Pen, wrap_handwriting, write_by_hand
from clerkship.formats.fax_pages.layout import PageFlow
from clerkship.kit.rng import Rng
from clerkship.model.frozen import Flag, Whole
from clerkship.simulators.fax.templates.blocks import continue_pages, tick_boxes
from clerkship.simulators.fax.templates.contract import FaxTemplate
from clerkship.simulators.fax.templates.fields import FaxFields, LongText, RecipientFields, ShortText
from clerkship.simulators.fax.templates.look import Look, draw_letterhead

MAX_HANDWRITTEN = 400
"""Letters."""
RULED_LINES = 7
"""Lines for a message by hand; a longer one has as many as it needs."""


class CoverSheetFields(FaxFields):
    """A cover sheet."""

    recipient: RecipientFields
    contact: Annotated[ShortText, Field(description="person who sends the fax")] = ""
    subject: ShortText = ""
    pages: Annotated[Whole | None, Field(ge=1, description="number of pages with this one, as it is written")] = None
    urgent: Flag = False
    for_review: Flag = False
    please_reply: Flag = False
    message: LongText = ""
    handwritten_message: Annotated[str, Field(max_length=MAX_HANDWRITTEN, description="message written by hand")] = ""


def lay_out(fields: CoverSheetFields, flow: PageFlow, look: Look, rng: Rng) -> None:
    """Lay out the sheet."""
    draw_letterhead(flow, look, fields.sender)
    continue_pages(flow, "Fax cover sheet" + (f": {fields.subject}" if fields.subject else ""))
    flow.skip(20)
    title = FontStyle(look.title.family, 34, bold=True)
    flow.canvas.text(flow.left, flow.y, "FAX", title)
    flow.skip(title.line_height + 24)
    _add_routing(flow, fields)
    options = [
        ("Urgent", fields.urgent),
        ("For review", fields.for_review),
        ("Please reply", fields.please_reply),
    ]
    flow.skip(16)
    tick_boxes(flow, "", options, gap=90)
    flow.canvas.rule(flow.left, flow.y + 6, flow.right, 4)
    flow.skip(34)
    if fields.message or fields.handwritten_message:
        flow.canvas.text(flow.left, flow.y, "Comments:", look.heading)
        flow.skip(look.heading.line_height + 30)
    if fields.message:
        flow.paragraph(fields.message)
    _write_message(flow, fields.handwritten_message, rng)


def _add_routing(flow: PageFlow, fields: CoverSheetFields) -> None:
    recipient = fields.recipient
    place = ", ".join(part for part in (recipient.address, recipient.city) if part)
    pairs = [
        ("To:", recipient.name),
        ("Attention:", recipient.attention),
        ("Address:", place),
        ("Fax:", recipient.fax),
        ("Phone:", recipient.phone),
        ("From:", fields.contact or fields.sender.name),
        ("Date:", fields.date),
        ("Pages:", "" if fields.pages is None else f"{fields.pages} (with this sheet)"),
        ("Re:", fields.subject),
    ]
    body, flow.style = flow.style, flow.style.sized(flow.style.size + 1.5)
    for pair in pairs:
        flow.pairs([pair], 260, after=10 if pair[1] else 0)
    flow.style = body


def _write_message(flow: PageFlow, text: str, rng: Rng) -> None:
    """Write a message by hand on ruled lines."""
    if not text:
        return
    random = rng.stream("message")
    pen = Pen(random.choice(("print", "script")), 40, 3, random.randrange(8, 25))
    lines = wrap_handwriting(text, pen, flow.width - 80)
    for line in [*lines, *[""] * (RULED_LINES - len(lines))]:
        flow.ensure_space(90)
        write_by_hand(flow.canvas, flow.left + 20 + random.randrange(12), flow.y, line, pen, random)
        flow.canvas.rule(flow.left, flow.y + 62, flow.right, 1)
        flow.skip(84)


TEMPLATE = FaxTemplate("cover_sheet", "The cover sheet of any fax.", CoverSheetFields, lay_out)
