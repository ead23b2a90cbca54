"""`voice`: the telephone of an organization, with words and keys instead of sound."""

from pathlib import Path

from clerkship.formats.fhir.chart import load_chart
from clerkship.model.environment import apply_environment_zone
from clerkship.sandbox.exercise import load_chart_lines, load_requests
from clerkship.simulators.spec import SimulatorExtra, Spec
from clerkship.simulators.voice.assertions.voice_call import VoiceCallHappened
from clerkship.simulators.voice.assertions.voice_case import VoiceCaseOpened
from clerkship.simulators.voice.assertions.voice_disclosed import VoiceDisclosed
from clerkship.simulators.voice.assertions.voice_path import VoicePath
from clerkship.simulators.voice.assertions.voice_transcript import VoiceTranscript
from clerkship.simulators.voice.assertions.voicemail_left import VoicemailWasLeft
from clerkship.simulators.voice.attack import VoiceAttack
from clerkship.simulators.voice.config import VoiceConfig
from clerkship.simulators.voice.events import EVENTS
from clerkship.simulators.voice.faults import FAULT_STEPS
from clerkship.simulators.voice.handle import Voice
from clerkship.simulators.voice.http import ROUTES
from clerkship.simulators.voice.names import NAMES
from clerkship.simulators.voice.operations import OPERATIONS
from clerkship.simulators.voice.state import VoiceState
from clerkship.simulators.voice.steps.call import CallAgent
from clerkship.simulators.voice.steps.line import ChangeLine
from clerkship.simulators.voice.steps.menu import ChangeMenu
from clerkship.simulators.voice.steps.voicemail import LeaveVoicemailStep
from clerkship.simulators.voice.webhook import WEBHOOK_EXERCISE, WEBHOOK_OPERATIONS, VoiceWebhook
from clerkship.simulators.voice.websocket import open_socket

FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="voice",
    summary="The telephone of an organization: calls to phone trees and people, and voicemail, in words and keys.",
    state=VoiceState,
    events=EVENTS,
    operations=(*OPERATIONS, *WEBHOOK_OPERATIONS, open_socket),
    routes=ROUTES,
    handle=Voice,
    assertions=(VoiceCallHappened, VoicePath, VoiceTranscript, VoiceDisclosed, VoicemailWasLeft, VoiceCaseOpened),
    extras=(SimulatorExtra("websocket", "calls over WebSocket are refused"),),
    exercise=(*load_requests(FOLDER), *WEBHOOK_EXERCISE),
    exercise_datasets=(load_chart_lines("patients", FOLDER),),
    config=VoiceConfig,
    configure=apply_environment_zone,
    dataset="fhir",
    prepare=load_chart,
    names=NAMES,
    outbound=(VoiceWebhook,),
    steps=(CallAgent, LeaveVoicemailStep, ChangeMenu, ChangeLine, *FAULT_STEPS),
    channels=("phone",),
    activity="clerkship.simulators.voice.activity:list_activity",
    view="clerkship.simulators.voice.state_view:list_rows",
    run_coverage="clerkship.simulators.voice.run_coverage:DIMENSIONS",
    attack=VoiceAttack(),
    scaffold=FOLDER / "scaffold.yml",
)
