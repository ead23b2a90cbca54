"""The configuration of a `messages` simulator."""

import hashlib
from datetime import timedelta
from functools import cached_property
from typing import Annotated

from pydantic import Field

from clerkship.model.conversation_key import normalize_address
from clerkship.model.duration import Duration
from clerkship.model.frozen import Flag, Frozen, Whole

PhoneNumber = Annotated[str, Field(pattern=r"^\+[1-9]\d{6,14}$", description="phone number in E.164: +15550100123")]
EmailAddress = Annotated[str, Field(pattern=r"^[^@\s<>,;\"]+@[^@\s<>,;\"]+$", max_length=254)]

DEFAULT_ACCOUNT_SID = f"AC{hashlib.blake2b(b'clerkship', digest_size=16).hexdigest()}"
"""Not written out: secret scanners report Account SIDs. It is no secret; the password is."""


class Contact(Frozen):
    """A person or office that can be written to, besides the patients of the datasets."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    phone: PhoneNumber | None = None
    email: EmailAddress | None = None
    portal: Annotated[str | None, Field(description="their patient portal account, such as `Patient/pat-0001`")] = None
    landline: Annotated[Flag, Field(description="whether the phone number cannot receive text messages")] = False
    unreachable: Annotated[Flag, Field(description="whether text messages to them are not delivered")] = False
    opted_out: Annotated[Flag, Field(description="whether they opted out of text messages")] = False


class MessagesConfig(Frozen):
    """The configuration: the organization's own numbers and addresses, whom it can reach, and limits."""

    organization: Annotated[str, Field(description="name of the organization, on the patient portal and in e-mail")] = (
        "Clinic"
    )
    numbers: Annotated[
        tuple[PhoneNumber, ...], Field(min_length=1, max_length=20, description="its own phone numbers")
    ] = ("+15550100100",)
    addresses: Annotated[
        tuple[EmailAddress, ...], Field(min_length=1, max_length=20, description="its own e-mail addresses")
    ] = ("frontdesk@clinic.example",)
    contacts: Annotated[tuple[Contact, ...], Field(max_length=10_000)] = ()
    use_patients: Annotated[
        Flag, Field(description="whether patients of the FHIR datasets can be written to at their telecom entries")
    ] = True
    deliver_after: Annotated[Duration, Field(description="simulated time until a sent message is delivered")] = (
        timedelta(seconds=5)
    )
    account_sid: Annotated[
        str, Field(pattern=r"^AC[0-9a-f]{32}$", description="its Account SID in the Twilio API, the user of Basic")
    ] = DEFAULT_ACCOUNT_SID
    webhook: Annotated[str | None, Field(description="URL of the agent that is called for each inbound SMS")] = None
    help_text: Annotated[str, Field(description="the automatic reply to HELP")] = ""
    smtp_requires_tls: Annotated[Flag, Field(description="whether an SMTP client must begin TLS before it logs in")] = (
        False
    )
    max_message_bytes: Annotated[
        Whole,
        Field(
            ge=1_000,
            le=100_000_000,
            description="largest e-mail or patient portal message, with attachments; "
            "over HTTP 20 MB at most, over SMTP more",
        ),
    ] = 20_000_000
    max_messages: Annotated[
        Whole, Field(ge=1, le=10_000_000, description="how many messages there may be; sending more is refused")
    ] = 100_000

    @cached_property
    def own_emails(self) -> frozenset[str]:
        """Its own e-mail addresses, as they are compared."""
        return frozenset(normalize_address("email", address) for address in self.addresses)

    def owns_email(self, address: str) -> bool:
        return normalize_address("email", address) in self.own_emails
