"""`fhir`: an electronic health record, over FHIR R4 REST."""

from pathlib import Path

from clerkship.formats.fhir.chart import load_chart
from clerkship.formats.fhir.names import NAMES
from clerkship.model.environment import apply_environment_zone
from clerkship.sandbox.cors import CorsPolicy
from clerkship.sandbox.exercise import load_chart_lines, load_requests
from clerkship.simulators.fhir.assertions.fhir_no_other_changes import FhirNoOtherChanges
from clerkship.simulators.fhir.assertions.fhir_resource_state import FhirResourceState
from clerkship.simulators.fhir.assertions.fhir_was_searched_for import FhirWasSearchedFor
from clerkship.simulators.fhir.assertions.reads import FhirWasNotRead, FhirWasRead
from clerkship.simulators.fhir.attack import FhirAttack
from clerkship.simulators.fhir.config import FhirConfig
from clerkship.simulators.fhir.datasets.load import FHIR_DATASET
from clerkship.simulators.fhir.events import EVENTS
from clerkship.simulators.fhir.handle import Fhir
from clerkship.simulators.fhir.outcome import render_refusal
from clerkship.simulators.fhir.rest_hook import REST_HOOK_EXERCISE, REST_HOOK_OPERATIONS, RestHookDelivery
from clerkship.simulators.fhir.routes import OPERATIONS, ROUTES
from clerkship.simulators.fhir.smart import AUTHENTICATION, SMART_ROUTES
from clerkship.simulators.fhir.state import FhirState
from clerkship.simulators.fhir.steps import FhirDelete, FhirPatch, FhirPut
from clerkship.simulators.spec import Spec

FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="fhir",
    summary="An electronic health record over FHIR R4 REST: read, search, write, patch, history, transactions.",
    state=FhirState,
    events=EVENTS,
    operations=(*(route.operation for route in SMART_ROUTES), *OPERATIONS, *REST_HOOK_OPERATIONS),
    routes=(*SMART_ROUTES, *ROUTES),
    handle=Fhir,
    exercise=(*load_requests(FOLDER), *REST_HOOK_EXERCISE),
    exercise_datasets=(load_chart_lines("a small chart", FOLDER),),
    example="/Patient?_count=1",
    config=FhirConfig,
    outbound=(RestHookDelivery,),
    dataset="fhir",
    prepare=load_chart,
    names=NAMES,
    configure=apply_environment_zone,
    refuse=render_refusal,
    authentication=(AUTHENTICATION,),
    cors=CorsPolicy(expose=("Content-Location", "ETag", "Last-Modified", "Location", "Retry-After", "X-Progress")),
    assertions=(FhirResourceState, FhirNoOtherChanges, FhirWasRead, FhirWasNotRead, FhirWasSearchedFor),
    steps=(FhirPut, FhirPatch, FhirDelete),
    activity="clerkship.simulators.fhir.activity:list_activity",
    view="clerkship.simulators.fhir.state_view:list_rows",
    run_coverage="clerkship.simulators.fhir.run_coverage:DIMENSIONS",
    attack=FhirAttack(),
    dataset_types=(FHIR_DATASET,),
    scaffold=FOLDER / "scaffold.yml",
)
