"""`cds`: an EHR that calls the CDS services of the agent (CDS Hooks 2.0)."""

from pathlib import Path

from clerkship.simulators.cds.assertions.cds_card import CdsCard
from clerkship.simulators.cds.assertions.cds_latency import CdsLatency
from clerkship.simulators.cds.attack import CdsAttack
from clerkship.simulators.cds.config import CdsConfig
from clerkship.simulators.cds.delivery import CdsDelivery
from clerkship.simulators.cds.events import EVENTS
from clerkship.simulators.cds.exercise import EXERCISE
from clerkship.simulators.cds.handle import Cds
from clerkship.simulators.cds.http import ROUTES
from clerkship.simulators.cds.operations import OPERATIONS
from clerkship.simulators.cds.state import CdsState
from clerkship.simulators.cds.steps.fire import CdsFire
from clerkship.simulators.spec import SimulatorExtra, Spec

SPEC = Spec(
    kind="cds",
    summary="An EHR that calls your CDS services: register them, answer hooks with cards, see what became of them.",
    state=CdsState,
    events=EVENTS,
    operations=OPERATIONS,
    routes=ROUTES,
    handle=Cds,
    exercise=EXERCISE,
    example="/hooks",
    config=CdsConfig,
    assertions=(CdsCard, CdsLatency),
    steps=(CdsFire,),
    outbound=(CdsDelivery,),
    extras=(SimulatorExtra("jwt", "calls of services cannot be signed", is_needed=True),),
    activity="clerkship.simulators.cds.activity:list_activity",
    attack=CdsAttack(),
    scaffold=Path(__file__).with_name("scaffold.yml"),
)
