"""`messages`: the text messages, e-mail and portal messages of an organization."""

from clerkship.simulators.messages.attack import MessagesAttack
from clerkship.simulators.messages.config import MessagesConfig
from clerkship.simulators.messages.contacts import PatientContacts
from clerkship.simulators.messages.events import EVENTS
from clerkship.simulators.messages.exercise import DATASET, EXERCISE
from clerkship.simulators.messages.handle import Messages
from clerkship.simulators.messages.http import ROUTES
from clerkship.simulators.messages.operations import OPERATIONS
from clerkship.simulators.messages.scaffold import SCAFFOLD
from clerkship.simulators.messages.state import MessagesState
from clerkship.simulators.messages.steps.receive import ReceiveMessage
from clerkship.simulators.messages.steps.sent_before import SentBefore
from clerkship.simulators.messages.steps.set_consent import SetConsent
from clerkship.simulators.spec import Spec

SPEC = Spec(
    kind="messages",
    summary="The messages of an organization: text messages, e-mail and portal messages, with consent and delivery.",
    state=MessagesState,
    events=EVENTS,
    operations=OPERATIONS,
    routes=ROUTES,
    handle=Messages,
    exercise=EXERCISE,
    exercise_datasets=(DATASET,),
    config=MessagesConfig,
    dataset="fhir",
    prepare=PatientContacts,
    steps=(ReceiveMessage, SentBefore, SetConsent),
    attack=MessagesAttack(),
    scaffold=SCAFFOLD,
)
