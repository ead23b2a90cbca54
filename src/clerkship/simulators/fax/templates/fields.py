"""Fields that several templates have."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.model.frozen import Flag, Frozen, Whole

ShortText = Annotated[str, Field(max_length=200)]
LongText = Annotated[str, Field(max_length=10_000)]


class LetterheadFields(Frozen):
    """The organization that sends the fax. Its name decides on the letterhead, the fonts and the layout."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    department: ShortText = ""
    address: Annotated[ShortText, Field(description="street and number")] = ""
    city: Annotated[ShortText, Field(description="city, state and ZIP code")] = ""
    phone: ShortText = ""
    fax: ShortText = ""


class RecipientFields(Frozen):
    """To whom the fax goes, as it is written on the page. The number that is dialed may be another one."""

    name: ShortText = ""
    attention: Annotated[ShortText, Field(description="person or desk: `Referral coordinator`")] = ""
    address: ShortText = ""
    city: ShortText = ""
    phone: ShortText = ""
    fax: ShortText = ""


class FaxedPatient(Frozen):
    """The patient, as the sender writes it."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    date_of_birth: Annotated[ShortText, Field(description="as it is written: `04/09/1961`")] = ""
    sex: ShortText = ""
    mrn: Annotated[ShortText, Field(description="medical record number at the sender")] = ""
    phone: ShortText = ""
    address: ShortText = ""


class FaxedInsurance(Frozen):
    """The patient's insurance."""

    payer: ShortText = ""
    plan: ShortText = ""
    member_id: ShortText = ""
    group: ShortText = ""


class FaxedClinician(Frozen):
    """A clinician: who signs, orders or is named."""

    name: Annotated[ShortText, Field(description="with the degree: `Elena Marsh, MD`")] = ""
    title: ShortText = ""
    npi: Annotated[ShortText, Field(description="National Provider Identifier")] = ""
    phone: ShortText = ""
    fax: ShortText = ""


class FaxedCode(Frozen):
    """A code and what it means."""

    code: ShortText
    description: ShortText = ""


class FaxStamp(Frozen):
    """A stamp, a little crooked."""

    text: Annotated[str, Field(min_length=1, max_length=24)] = "RECEIVED"
    date: Annotated[str, Field(max_length=24)] = ""


class FaxBlot(Frozen):
    """A blot of ink on some letters of a word."""

    word: Annotated[str, Field(min_length=1, max_length=80, description="a whole word of the first page")]
    first: Annotated[Whole, Field(ge=1, description="the first letter that cannot be read, counted from 1")]
    letters: Annotated[Whole, Field(ge=1, description="how many letters cannot be read")] = 1

    @model_validator(mode="after")
    def _check_letters(self) -> Self:
        if self.first + self.letters - 1 > len(self.word):
            raise ValueError(f"`{self.word}` has {len(self.word)} letters; the blot ends after them")
        return self


class FaxFields(Frozen):
    """What each template has: the sender, and what people left on the paper."""

    sender: LetterheadFields
    date: Annotated[ShortText, Field(description="as it is written: `March 2, 2026`")] = ""
    notes: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=160)], ...],
        Field(max_length=4, description="notes written by hand on the first page"),
    ] = ()
    circled: Annotated[
        tuple[ShortText, ...],
        Field(
            max_length=10,
            description="words of the first page with a circle by hand around them, which OCR often cannot read",
        ),
    ] = ()
    blots: Annotated[
        tuple[FaxBlot, ...], Field(max_length=10, description="letters of the first page that are not readable")
    ] = ()
    stamp: FaxStamp | None = None
    punch_holes: Annotated[Literal[0, 2, 3], Field(description="holes at the left edge")] = 0
    confidentiality: Annotated[Flag, Field(description="whether small print at the bottom asks for confidence")] = True
