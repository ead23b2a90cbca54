"""`portal`: a payer portal, a website for prior authorizations.

See docs/decisions/0031-payer-portal.md.
"""

from pathlib import Path

from clerkship.payer import SPEC as PAYER
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.simulators.portal.api.routes import API_ROUTES
from clerkship.simulators.portal.assertions.portal_action import PortalActionDone
from clerkship.simulators.portal.assertions.portal_document import PortalDocumentSent
from clerkship.simulators.portal.assertions.portal_state_match import PortalStateMatch
from clerkship.simulators.portal.attack import PortalAttack
from clerkship.simulators.portal.config import PortalConfig, apply_environment
from clerkship.simulators.portal.events import EVENTS
from clerkship.simulators.portal.exercise import EXERCISE
from clerkship.simulators.portal.filters import FILTERS
from clerkship.simulators.portal.handle import Portal
from clerkship.simulators.portal.http import LAST_ROUTES, PAGE_ROUTES
from clerkship.simulators.portal.names import NAMES
from clerkship.simulators.portal.session import SESSIONS, PortalPassword
from clerkship.simulators.portal.state import PortalState
from clerkship.simulators.portal.steps.change import ChangePortal
from clerkship.simulators.portal.steps.inbox import PutLetter
from clerkship.simulators.portal.steps.put import PutRequest
from clerkship.simulators.spec import Spec
from clerkship.transports.assets import AssetFolder

ROUTES = (*PAGE_ROUTES, *API_ROUTES, *LAST_ROUTES)
SPEC = Spec(
    kind="portal",
    summary="A payer portal: a website for eligibility, prior authorizations and claims, with a REST API beside it.",
    state=PortalState,
    events=EVENTS,
    operations=tuple(route.operation for route in ROUTES),
    routes=ROUTES,
    handle=Portal,
    activity="clerkship.simulators.portal.activity:list_activity",
    run_coverage="clerkship.simulators.portal.run_coverage:DIMENSIONS",
    attack=PortalAttack(),
    assertions=(PortalStateMatch, PortalActionDone, PortalDocumentSent),
    exercise=EXERCISE,
    domains=(PAYER,),
    example="/sign-in",
    config=PortalConfig,
    configure=apply_environment,
    names=NAMES,
    scaffold=Path(__file__).parent / "scaffold.yml",
    steps=(PutRequest, PutLetter, ChangePortal),
    assets=(
        AssetFolder("/static", "clerkship.simulators.portal"),
        AssetFolder("/codes", "clerkship.simulators.portal", "codes"),
    ),
    filters=FILTERS,
    authentication=(BearerToken(), SESSIONS, PortalPassword()),
)
