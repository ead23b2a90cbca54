"""`messages`: the text messages, e-mail and patient portal messages of an organization."""

from pathlib import Path

from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.listener_schemes import SmtpUser
from clerkship.sandbox.authentication.password import BasicPassword
from clerkship.sandbox.exercise import load_chart_lines, load_requests
from clerkship.simulators.messages.assertions.message_sent import MessageWasSent
from clerkship.simulators.messages.assertions.message_thread import MessageThreadInOrder
from clerkship.simulators.messages.assertions.must_not_mention import MustNotMention
from clerkship.simulators.messages.attack import MessagesAttack
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.contacts import PatientContacts
from clerkship.simulators.messages.email.operations import EMAIL_OPERATIONS
from clerkship.simulators.messages.email.smtp import Smtp, Smtps
from clerkship.simulators.messages.events import EVENTS
from clerkship.simulators.messages.exercise import EXERCISE
from clerkship.simulators.messages.handle import Messages
from clerkship.simulators.messages.http import ROUTES
from clerkship.simulators.messages.names import NAMES
from clerkship.simulators.messages.operations import OPERATIONS
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.steps import ReceiveMessage, SentBefore, SetConsent
from clerkship.simulators.messages.twilio.deliveries import TWILIO_DELIVERIES
from clerkship.simulators.messages.twilio.http import TWILIO_ROUTES
from clerkship.simulators.messages.twilio.operations import TWILIO_OPERATIONS
from clerkship.simulators.spec import Spec

FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="messages",
    summary="Text messages, e-mail and patient portal messages of an organization, with consent and delivery.",
    state=MessagesState,
    events=EVENTS,
    operations=(*OPERATIONS, *EMAIL_OPERATIONS, *TWILIO_OPERATIONS),
    routes=(*ROUTES, *TWILIO_ROUTES),
    handle=Messages,
    exercise=(*load_requests(FOLDER), *EXERCISE),
    exercise_datasets=(load_chart_lines("patients", FOLDER),),
    config=MessagesConfig,
    dataset="fhir",
    prepare=PatientContacts,
    names=NAMES,
    listeners=(Smtp, Smtps),
    outbound=TWILIO_DELIVERIES,
    authentication=(BearerToken(), BasicPassword(user_field="account_sid"), SmtpUser()),
    assertions=(MessageWasSent, MessageThreadInOrder, MustNotMention),
    steps=(ReceiveMessage, SentBefore, SetConsent),
    channels=("sms", "email", "portal"),
    activity="clerkship.simulators.messages.activity:list_activity",
    view="clerkship.simulators.messages.state_view:list_rows",
    run_coverage="clerkship.simulators.messages.run_coverage:DIMENSIONS",
    attack=MessagesAttack(),
    scaffold=FOLDER / "scaffold.yml",
)
