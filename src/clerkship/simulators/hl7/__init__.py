"""`hl7`: an interface engine that speaks HL7 v2 over MLLP and HTTP."""

from pathlib import Path

from clerkship.model.environment import apply_environment_zone
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.listener_schemes import MessageAddress
from clerkship.sandbox.exercise import load_requests
from clerkship.simulators.hl7.assertions.hl7_acknowledged import Hl7Acknowledged
from clerkship.simulators.hl7.assertions.hl7_structural import Hl7Structural
from clerkship.simulators.hl7.attack import Hl7Attack
from clerkship.simulators.hl7.config import CONTROL_ID, Hl7Config
from clerkship.simulators.hl7.events import EVENTS
from clerkship.simulators.hl7.filters import FILTERS
from clerkship.simulators.hl7.handle import Hl7
from clerkship.simulators.hl7.http import ROUTES
from clerkship.simulators.hl7.mllp import Mllp
from clerkship.simulators.hl7.mllp_delivery import MllpDelivery
from clerkship.simulators.hl7.operations import OPERATIONS
from clerkship.simulators.hl7.state import Hl7State
from clerkship.simulators.hl7.steps.send import Hl7Send
from clerkship.simulators.spec import Spec

FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="hl7",
    summary="An interface engine that speaks HL7 v2: send messages, get messages, acknowledge and be acknowledged.",
    state=Hl7State,
    events=EVENTS,
    operations=OPERATIONS,
    routes=ROUTES,
    handle=Hl7,
    exercise=load_requests(FOLDER),
    example="/hl7/inbox",
    config=Hl7Config,
    names={CONTROL_ID.sort: lambda config, base: ()},
    configure=apply_environment_zone,
    assertions=(Hl7Structural, Hl7Acknowledged),
    steps=(Hl7Send,),
    listeners=(Mllp,),
    outbound=(MllpDelivery,),
    authentication=(BearerToken(), MessageAddress()),
    activity="clerkship.simulators.hl7.activity:list_activity",
    view="clerkship.simulators.hl7.state_view:list_rows",
    run_coverage="clerkship.simulators.hl7.run_coverage:DIMENSIONS",
    attack=Hl7Attack(),
    filters=FILTERS,
    scaffold=FOLDER / "scaffold.yml",
)
