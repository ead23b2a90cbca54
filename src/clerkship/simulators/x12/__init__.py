"""`x12`: a clearinghouse that exchanges X12 5010 transactions with payers, over HTTP and as files."""

from pathlib import Path

from clerkship.model.environment import apply_environment_zone
from clerkship.payer import SPEC as PAYER
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.password import BasicPassword
from clerkship.sandbox.exercise import load_requests
from clerkship.simulators.spec import Spec
from clerkship.simulators.x12.assertions.transactions import X12RequestSent, X12ResponseReceived
from clerkship.simulators.x12.attack import X12Attack
from clerkship.simulators.x12.config import X12Config
from clerkship.simulators.x12.events import EVENTS
from clerkship.simulators.x12.handle import X12
from clerkship.simulators.x12.http import ROUTES
from clerkship.simulators.x12.operations import OPERATIONS
from clerkship.simulators.x12.pas.operations import PAS_OPERATIONS, PAS_ROUTES
from clerkship.simulators.x12.state import X12State

FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="x12",
    summary=(
        "A clearinghouse that speaks X12 5010: eligibility (270), claim status (276) and authorizations (278), "
        "these also over FHIR (Da Vinci PAS)."
    ),
    state=X12State,
    events=EVENTS,
    operations=(*OPERATIONS, *PAS_OPERATIONS),
    routes=(*ROUTES, *PAS_ROUTES),
    handle=X12,
    exercise=load_requests(FOLDER),
    domains=(PAYER,),
    example="/x12",
    config=X12Config,
    configure=apply_environment_zone,
    assertions=(X12ResponseReceived, X12RequestSent),
    authentication=(BearerToken(), BasicPassword()),
    activity="clerkship.simulators.x12.activity:list_activity",
    run_coverage="clerkship.simulators.x12.run_coverage:DIMENSIONS",
    attack=X12Attack(),
    scaffold=FOLDER / "scaffold.yml",
)
