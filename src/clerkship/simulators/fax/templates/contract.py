"""What a template is: a model of its fields, and a function that lays them out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, TypeVar

from clerkship.formats.fax_pages.canvas import PAGE_HEIGHT, DrawnPage
from clerkship.formats.fax_pages.fonts import wrap
from clerkship.formats.fax_pages.layout import FOOTER_HEIGHT, PageFlow
from clerkship.formats.fax_pages.marks import add_note, add_punch_holes, add_stamp, blot_letters, circle_words
from clerkship.formats.fax_pages.page import MAX_CACHED_PAGES, Resolution
from clerkship.kit.rng import Rng, derive_seed
from clerkship.simulators.fax.templates.fields import FaxFields
from clerkship.simulators.fax.templates.look import Look, look_of

FieldsT = TypeVar("FieldsT", bound=FaxFields)
CONFIDENTIALITY = (
    "CONFIDENTIAL: These pages contain health information that is protected by law. They are meant for the addressee"
    " alone. If they reached you by mistake, call the sender at once and destroy all copies; do not read, copy or pass"
    " them on."
)
MAX_LEFTOVER = 560
"""Dots from the top of a second page; less on it is fitted on the first page if smaller letters allow."""


@dataclass(frozen=True)
class FaxTemplate(Generic[FieldsT]):
    """A kind of document. Suite authors write its fields in YAML."""

    name: str
    description: str
    fields: type[FieldsT]
    lay_out: Callable[[FieldsT, PageFlow, Look, Rng], None]
    """Draw the fields from the top of the first page."""

    def draw(self, fields: FieldsT, seed: int | str, resolution: Resolution = "fine") -> list[DrawnPage]:
        """Return the pages and their true words.

        The sender's name decides on the look. The seed decides on what a hand does: signatures, notes, stamps.
        Cached, because each trial of a task has the same pages.
        """
        return list(_draw_fields(self, fields.model_dump_json(), str(seed), resolution))

    def draw_anew(self, fields: FieldsT, seed: str, resolution: Resolution) -> list[DrawnPage]:
        """Draw the pages without the cache."""
        seed = derive_seed(seed, "fax template", self.name)
        look = look_of(fields.sender)
        flow = self._lay_out_pages(fields, look, seed, resolution)
        if len(flow.canvas.sheets) == 2 and flow.y < MAX_LEFTOVER:
            # An office makes the letters smaller, so that the signature is not alone on a page.
            smaller = self._lay_out_pages(fields, look.compact(), seed, resolution)
            flow = smaller if len(smaller.canvas.sheets) == 1 else flow
        _add_footers(flow, fields, look)
        _add_marks(flow, fields, Rng(seed))
        return flow.canvas.finish()

    def _lay_out_pages(self, fields: FieldsT, look: Look, seed: str, resolution: Resolution) -> PageFlow:
        flow = PageFlow(look.body, resolution, look.margin)
        self.lay_out(fields, flow, look, Rng(seed))
        return flow

    def draw_values(
        self, values: Mapping[str, object], seed: int | str, resolution: Resolution = "fine"
    ) -> list[DrawnPage]:
        """Check the values of the fields, and draw them; raise pydantic's ValidationError."""
        return self.draw(self.fields.model_validate(values), seed, resolution)


@lru_cache(maxsize=MAX_CACHED_PAGES)
def _draw_fields(template: "FaxTemplate[Any]", fields: str, seed: str, resolution: Resolution) -> tuple[DrawnPage, ...]:
    """Draw a template with the values of its fields as JSON, which can be the key of a cache."""
    return tuple(template.draw_anew(template.fields.model_validate_json(fields), seed, resolution))


def _add_footers(flow: PageFlow, fields: FaxFields, look: Look) -> None:
    """Draw small print and page numbers at the bottom of each page."""
    total = len(flow.canvas.sheets)
    notice = wrap(CONFIDENTIALITY, look.small, flow.width) if fields.confidentiality else []
    for number in range(total):
        flow.canvas.select_page(number)
        y = PAGE_HEIGHT - FOOTER_HEIGHT + 10
        for line in notice:
            flow.canvas.text(flow.left, y, line, look.small)
            y += look.small.dots * 6 // 5
        if total > 1:
            flow.canvas.text(flow.right, y, f"Page {number + 1} of {total}", look.small, "right")


def _add_marks(flow: PageFlow, fields: FaxFields, rng: Rng) -> None:
    """Draw what people left on the first page."""
    flow.canvas.select_page(0)
    for words in fields.circled:
        circle_words(flow.canvas, words, rng.stream("circles"))
    for blot in fields.blots:
        blot_letters(flow.canvas, blot.word, blot.first, blot.letters, rng.stream("blots"))
    if fields.stamp:
        lines = [line for line in (fields.stamp.text, fields.stamp.date) if line]
        add_stamp(flow.canvas, lines, rng.stream("stamp"))
    for note in fields.notes:
        add_note(flow.canvas, note, rng.stream("notes"))
    if fields.punch_holes:
        for number in range(len(flow.canvas.sheets)):
            flow.canvas.select_page(number)
            add_punch_holes(flow.canvas, fields.punch_holes)
