"""`cds_service`: CDS services that the agent calls, as an EHR does."""

from pathlib import Path

from clerkship.simulators.cds_service.assertions.cds_called import CdsServiceWasCalled
from clerkship.simulators.cds_service.attack import CdsServiceAttack
from clerkship.simulators.cds_service.config import SERVICE, CdsServiceConfig
from clerkship.simulators.cds_service.events import EVENTS
from clerkship.simulators.cds_service.exercise import EXERCISE
from clerkship.simulators.cds_service.handle import CdsServices
from clerkship.simulators.cds_service.http import ROUTES
from clerkship.simulators.cds_service.operations import AUTHENTICATION, OPERATIONS
from clerkship.simulators.cds_service.state import CdsServiceState
from clerkship.simulators.cds_service.steps.set_cards import SetCards
from clerkship.simulators.spec import SimulatorExtra, Spec

SPEC = Spec(
    kind="cds_service",
    summary="CDS Hooks services that an EHR calls: given cards, and rules for allergies, interactions and duplicates.",
    state=CdsServiceState,
    events=EVENTS,
    operations=OPERATIONS,
    routes=ROUTES,
    handle=CdsServices,
    exercise=EXERCISE,
    example="/cds-services",
    config=CdsServiceConfig,
    names={SERVICE.sort: lambda config, base: [service.id for service in config.services]},
    assertions=(CdsServiceWasCalled,),
    steps=(SetCards,),
    authentication=(AUTHENTICATION,),
    extras=(SimulatorExtra("jwt", "no public keys can be registered, so JWTs are refused"),),
    activity="clerkship.simulators.cds_service.activity:list_activity",
    attack=CdsServiceAttack(),
    scaffold=Path(__file__).with_name("scaffold.yml"),
)
