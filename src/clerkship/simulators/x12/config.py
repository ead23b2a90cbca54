"""The configuration of an `x12` simulator."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.formats.x12.charset import X12Charset
from clerkship.model.duration import Duration, UtcOffset
from clerkship.model.frozen import Frozen, Whole

PartnerId = Annotated[str, Field(pattern=r"^[A-Z0-9][A-Z0-9 .&_-]{0,13}[A-Z0-9]$|^[A-Z0-9]$")]
Qualifier = Annotated[str, Field(pattern=r"^[A-Z0-9]{2}$")]
FolderPath = Annotated[str, Field(pattern=r"^[\w.-]*\w(/[\w.-]*\w)*$", max_length=200)]


class TradingPartner(Frozen):
    """A party that sends or receives interchanges."""

    id: Annotated[PartnerId, Field(description="its id: ISA06 as a sender, ISA08 as a receiver")]
    qualifier: Annotated[Qualifier, Field(description="the kind of the id: ISA05 or ISA07")] = "ZZ"

    def __str__(self) -> str:
        return f"{self.qualifier} {self.id}"


class BatchConfig(Frozen):
    """The folders of a file drop with which batches are exchanged, and how long a reply takes."""

    outbound: Annotated[FolderPath, Field(description="folder in which the agent writes interchanges")] = "outbound"
    inbound: Annotated[FolderPath, Field(description="folder in which replies appear")] = "inbound"
    acknowledge_after: Annotated[
        Duration, Field(description="simulated time until the file with TA1 and 999 appears")
    ] = timedelta(minutes=1)
    answer_after: Annotated[Duration, Field(description="simulated time until the file with the answers appears")] = (
        timedelta(minutes=10)
    )

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.answer_after < self.acknowledge_after:
            raise ValueError("`answer_after` is before `acknowledge_after`")
        return self


class X12Config(Frozen):
    """The configuration of a clearinghouse: its id, who may send, what is accepted, limits, and batches."""

    receiver: Annotated[TradingPartner, Field(description="its own id as a receiver: ISA07 and ISA08")] = (
        TradingPartner(id="CLEARING01")
    )
    senders: Annotated[
        tuple[TradingPartner, ...], Field(min_length=1, max_length=100, description="who may send: ISA05 and ISA06")
    ] = (TradingPartner(id="CLINIC01"),)
    usage: Annotated[Literal["T", "P"], Field(description="the accepted ISA15: test or production")] = "T"
    character_set: Annotated[
        X12Charset, Field(description="the accepted characters; basic excludes lower case letters")
    ] = "extended"
    control_numbers: Annotated[
        Literal["unique", "ascending"],
        Field(description="whether an ISA13 must only be new, or also greater than all before it, for each sender"),
    ] = "unique"
    max_interchange: Annotated[Whole, Field(ge=1000, le=20_000_000, description="bytes in one request or file")] = (
        10_000_000
    )
    max_sets: Annotated[Whole, Field(ge=1, le=10_000, description="transaction sets in one request or file")] = 2000
    max_levels: Annotated[
        Whole, Field(ge=10, le=10_000, description="levels (HL) in one transaction set: parties, patients and services")
    ] = 300
    batch: Annotated[BatchConfig, Field(description="batches through a file drop")] = BatchConfig()
    zone: UtcOffset = None
