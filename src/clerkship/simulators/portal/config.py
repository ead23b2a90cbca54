"""The configuration of a `portal` simulator."""

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from clerkship.model.duration import Duration, UtcOffset
from clerkship.model.environment import MESSAGES_KIND, Environment, apply_environment_zone
from clerkship.model.errors import InputError
from clerkship.model.frozen import Flag, Frozen, Whole
from clerkship.payer.name_sorts import PAYER
from clerkship.simulators.portal.questions.shipped import QuestionSets

PortalLayout = Literal["wizard", "one_page"]
DateFormat = Literal["any", "MM/DD/YYYY"]
PortalRight = Literal["eligibility", "authorizations", "claims"]
ALL_RIGHTS: tuple[PortalRight, ...] = ("eligibility", "authorizations", "claims")
Npi = Annotated[str, Field(pattern=r"^\d{10}$")]


class PortalUser(Frozen):
    """A person who works with the portal."""

    username: Annotated[str, Field(pattern=r"^[A-Za-z0-9._@-]{1,64}$", description="name to sign in with")]
    name: Annotated[str, Field(min_length=1, max_length=80, description="name of the person")]
    phone: Annotated[str, Field(description="phone number that one-time codes are sent to, such as +15550100140")] = ""
    email: Annotated[str, Field(description="e-mail address")] = ""
    rights: Annotated[tuple[PortalRight, ...], Field(description="what the person may use")] = ALL_RIGHTS


class OrganizationConfig(Frozen):
    """The practice whose people use the portal."""

    npi: Annotated[Npi, Field(description="its NPI, which the payers have on file")] = "9999900019"
    name: Annotated[str, Field(description="its name; by default that on file with the payers")] = ""


class FrictionConfig(Frozen):
    """What makes the portal harder to use. All of it is off by default."""

    idle_timeout: Annotated[
        Duration | None,
        Field(description="simulated time after which a session ends if no page is asked for; 20m if not given"),
    ] = None
    one_time_code: Annotated[
        Literal["off", "text", "email"],
        Field(description="whether signing in needs a code, which is sent to the user's phone or e-mail address"),
    ] = "off"
    password_expired: Annotated[Flag, Field(description="whether a new password must be chosen after signing in")] = (
        False
    )
    maintenance: Annotated[str, Field(description="text of a banner about maintenance; empty for none")] = ""
    error_after_submit: Annotated[
        Whole, Field(ge=0, description="how many submissions are filed, but answered with an error page")
    ] = 0
    error_before_submit: Annotated[
        Whole, Field(ge=0, description="how many submissions are answered with an error page, and not filed")
    ] = 0
    human_check: Annotated[
        Literal["off", "sign_in", "submit"],
        Field(description="where a page asks to verify that one is human, which an agent must hand over to a person"),
    ] = "off"
    date_format: Annotated[DateFormat, Field(description="how dates are written in forms; another form is refused")] = (
        "any"
    )
    single_tab: Annotated[
        Flag,
        Field(description="whether a form is refused if its draft was changed since it was opened, as in another tab"),
    ] = False

    @property
    def session_length(self) -> timedelta:
        """How long a session lasts without a request."""
        return self.idle_timeout if self.idle_timeout is not None else timedelta(minutes=20)


class AttachmentConfig(Frozen):
    """Which documents may be uploaded."""

    max_bytes: Annotated[Whole, Field(ge=1000, le=20_000_000, description="size of one file, in bytes")] = 5_000_000
    max_files: Annotated[Whole, Field(ge=1, le=50, description="files of one request")] = 10
    formats: Annotated[
        tuple[Literal["pdf", "tiff", "png", "jpeg", "text"], ...], Field(min_length=1, description="allowed formats")
    ] = ("pdf", "tiff", "png", "jpeg")
    required: Annotated[
        dict[str, str],
        Field(description="document types that a request needs, by procedure code, pattern or range"),
    ] = {}


class PortalConfig(Frozen):
    """A payer portal."""

    layout: Annotated[
        PortalLayout,
        Field(
            description="`wizard`: a hub of several payers with a form in steps; `one_page`: one payer, one long form"
        ),
    ] = "wizard"
    version: Annotated[Literal[1, 2], Field(description="2 has other labels, and fields in another order")] = 1
    payer: Annotated[
        str | None, PAYER, Field(description="number of the payer of a `one_page` portal; by default the first")
    ] = None
    user: Annotated[PortalUser, Field(description="the account of the agent")] = PortalUser(
        username="m.okafor", name="Maya Okafor", phone="+15550100140", email="m.okafor@riverbend.example"
    )
    colleagues: Annotated[
        tuple[PortalUser, ...], Field(description="others of the practice, whose drafts it sees")
    ] = ()
    organization: Annotated[OrganizationConfig, Field(description="the practice")] = OrganizationConfig()
    attachments: Annotated[AttachmentConfig, Field(description="which documents may be uploaded")] = AttachmentConfig()
    question_sets: Annotated[
        QuestionSets, Field(description="clinical questions beside those that ship; the same id replaces")
    ] = ()
    codes: Annotated[
        dict[str, str], Field(description="procedure codes beside those that ship, with their descriptions")
    ] = {}
    announcements: Annotated[tuple[str, ...], Field(description="announcements on the first page")] = ()
    friction: Annotated[FrictionConfig, Field(description="what makes it harder to use")] = FrictionConfig()
    api: Annotated[Flag, Field(description="whether the REST API is open")] = True
    zone: UtcOffset = None

    @model_validator(mode="after")
    def _check_users(self) -> Self:
        names = [self.user.username, *(each.username for each in self.colleagues)]
        if len(set(names)) < len(names):
            raise ValueError("two users have the same username")
        return self

    def find_user(self, username: str) -> PortalUser:
        """Return a user; the agent's if the name is unknown."""
        return next((each for each in (self.user, *self.colleagues) if each.username == username), self.user)


def apply_environment(config: PortalConfig, environment: Environment) -> PortalConfig:
    """Return the config with the UTC offset of the environment.

    Raises InputError if one-time codes are sent, and no reaction brings them to where the agent can read them.
    """
    kinds = {name: simulator.kind for name, simulator in environment.simulators.items()}
    is_read = any(
        each.matches("code.sent") and kinds.get(each.source) == "portal" and kinds.get(each.target) == MESSAGES_KIND
        for each in environment.reactions
    )
    if config.friction.one_time_code != "off" and not is_read:
        raise InputError.of(
            "friction.one_time_code: the codes arrive nowhere, so that nobody can sign in to the payer portal",
            hint="add a simulator of kind messages, and a reaction such as `portal.code.sent -> messages`",
        )
    return apply_environment_zone(config, environment)
