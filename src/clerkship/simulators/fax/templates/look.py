"""How the faxes of an organization look: fonts, letterhead and layout follow from its name."""

from dataclasses import dataclass, replace

from clerkship.formats.fax_pages.canvas import WHITE
from clerkship.formats.fax_pages.fonts import Family, FontStyle, wrap
from clerkship.formats.fax_pages.layout import PageFlow, TableLook
from clerkship.formats.fax_pages.marks import EMBLEM_BITS, LOGOS, add_logo
from clerkship.kit.rng import Rng, derive_seed
from clerkship.simulators.fax.templates.fields import LetterheadFields

LETTERHEADS = ("left", "center", "bar", "right")
HEADINGS = ("plain", "underlined", "shaded", "black")
TABLES: tuple[TableLook, ...] = ("grid", "rules", "plain")


@dataclass(frozen=True)
class Look:
    """The look of one organization."""

    body: FontStyle
    title: FontStyle
    letterhead: str
    logo: str
    emblem: int
    """What distinguishes the logo from others of the same shape."""
    headings: str
    table: TableLook
    margin: int
    has_boxed_patient: bool
    """Whether the patient is in the boxes of a form, not in lines of a letter."""

    def compact(self) -> "Look":
        """Return the look with smaller letters and narrower margins."""
        return replace(self, body=self.body.sized(9), margin=110)

    @property
    def heading(self) -> FontStyle:
        """The font of headings in the text."""
        return self.body.bolder().sized(self.body.size + 0.5)

    @property
    def small(self) -> FontStyle:
        """The font of small print."""
        return self.body.sized(7)


def look_of(organization: LetterheadFields) -> Look:
    """Return the look of an organization: the same on each of its faxes."""
    random = Rng(derive_seed(organization.name.casefold(), "look")).stream("look")
    families: tuple[Family, ...] = ("sans", "serif")
    return Look(
        body=FontStyle(random.choice(families), random.choice((9.5, 10, 10.5))),
        title=FontStyle(random.choice(families), random.choice((15, 17, 19)), bold=True),
        letterhead=random.choice(LETTERHEADS),
        logo=random.choice(sorted(LOGOS)),
        headings=random.choice(HEADINGS),
        table=random.choice(TABLES),
        margin=random.choice((130, 150, 165)),
        has_boxed_patient=random.choice((False, True)),
        emblem=random.getrandbits(EMBLEM_BITS),
    )


def address_lines(organization: LetterheadFields) -> list[str]:
    """Return the lines below the name of an organization."""
    numbers = (("Phone", organization.phone), ("Fax", organization.fax))
    lines = [organization.department, organization.address, organization.city]
    lines.append("   ".join(f"{label}: {number}" for label, number in numbers if number))
    return [line for line in lines if line]


def draw_letterhead(flow: PageFlow, look: Look, organization: LetterheadFields) -> None:
    """Draw the letterhead at the top of the page."""
    draw = {"left": _draw_left, "center": _draw_center, "bar": _draw_bar, "right": _draw_right}[look.letterhead]
    draw(flow, look, organization)


def _draw_left(flow: PageFlow, look: Look, organization: LetterheadFields) -> None:
    """Logo and name at the left, the address at the right, a double rule."""
    add_logo(flow.canvas, look.logo, flow.left, flow.y, 120, look.emblem)
    small = look.body.sized(8)
    lines = [part for line in address_lines(organization) for part in wrap(line, small, flow.width * 3 // 10)]
    name = wrap(organization.name, look.title, flow.width * 7 // 10 - 180)
    top, y = flow.y, flow.y + max(0, 60 - len(name) * look.title.line_height // 2)
    for line in name:
        flow.canvas.text(flow.left + 145, y, line, look.title)
        y += look.title.line_height
    for number, line in enumerate(lines):
        flow.canvas.text(flow.right, top + number * small.line_height, line, small, "right")
    flow.y = max(y, top + 130, top + len(lines) * small.line_height + 8)
    flow.canvas.rule(flow.left, flow.y, flow.right, 4)
    flow.canvas.rule(flow.left, flow.y + 8, flow.right, 1)
    flow.skip(36)


def _draw_center(flow: PageFlow, look: Look, organization: LetterheadFields) -> None:
    """Everything in the middle, with the logo on top."""
    middle = (flow.left + flow.right) // 2
    add_logo(flow.canvas, look.logo, middle - 48, flow.y - 24, 96, look.emblem)
    flow.skip(80)
    for line in wrap(organization.name, look.title, flow.width):
        flow.canvas.text(middle, flow.y, line, look.title, "center")
        flow.y += look.title.line_height
    small = look.body.sized(8)
    for line in wrap("  |  ".join(address_lines(organization)), small, flow.width):
        flow.canvas.text(middle, flow.y, line.strip("| "), small, "center")
        flow.y += small.line_height
    flow.skip(8)
    flow.canvas.rule(flow.left + 200, flow.y, flow.right - 200, 2)
    flow.skip(30)


def _draw_bar(flow: PageFlow, look: Look, organization: LetterheadFields) -> None:
    """The name in white on a black bar, the address below it."""
    title = look.title.sized(min(look.title.size, 16))
    lines = wrap(organization.name, title, flow.width - 160)
    height = len(lines) * title.line_height + 30
    flow.canvas.fill(flow.left, flow.y, flow.right, flow.y + height)
    for number, line in enumerate(lines):
        flow.canvas.text(flow.left + 24, flow.y + 12 + number * title.line_height, line, title, color=WHITE)
    flow.y += height + 8
    small = look.body.sized(8)
    for line in wrap("  -  ".join(address_lines(organization)), small, flow.width):
        flow.canvas.text(flow.left, flow.y, line, small)
        flow.y += small.line_height
    flow.skip(30)


def _draw_right(flow: PageFlow, look: Look, organization: LetterheadFields) -> None:
    """Name and address at the left, the logo at the right, a thick rule."""
    add_logo(flow.canvas, look.logo, flow.right - 130, flow.y, 130, look.emblem)
    top = flow.y
    for line in wrap(organization.name, look.title, flow.width - 170):
        flow.canvas.text(flow.left, flow.y, line, look.title)
        flow.y += look.title.line_height
    small = look.body.sized(8.5)
    lines = [part for line in address_lines(organization) for part in wrap(line, small, flow.width - 170)]
    for line in lines:
        flow.canvas.text(flow.left, flow.y, line, small)
        flow.y += small.line_height
    flow.y = max(flow.y + 10, top + 145)
    flow.canvas.rule(flow.left, flow.y, flow.right, 6)
    flow.skip(34)
