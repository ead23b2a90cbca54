"""`chat`: a conversation with a simulated person."""

from pathlib import Path

from clerkship.sandbox.exercise import load_requests
from clerkship.simulators.chat.attack import ChatAttack
from clerkship.simulators.chat.events import ChatMessageSent, PastMessage, PastReply, SessionEnded, SessionStarted
from clerkship.simulators.chat.handle import Chat
from clerkship.simulators.chat.http import ROUTES
from clerkship.simulators.chat.operations import OPERATIONS
from clerkship.simulators.chat.state import ChatState
from clerkship.simulators.chat.steps.past import ChatPast
from clerkship.simulators.chat.steps.say import ChatSay
from clerkship.simulators.spec import Spec

FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="chat",
    summary="A conversation with a simulated person: send a message, read what was said.",
    state=ChatState,
    events=(SessionStarted, ChatMessageSent, PastMessage, PastReply, SessionEnded),
    operations=OPERATIONS,
    routes=ROUTES,
    handle=Chat,
    exercise=load_requests(FOLDER),
    steps=(ChatSay, ChatPast),
    converses=True,
    activity="clerkship.simulators.chat.activity:list_activity",
    view="clerkship.simulators.chat.state_view:list_rows",
    attack=ChatAttack(),
)
