"""`fax`: the fax line of an organization."""

from pathlib import Path

from clerkship.model.dataset import Dataset
from clerkship.model.environment import apply_environment_zone
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.password import BasicPassword
from clerkship.sandbox.exercise import load_requests
from clerkship.simulators.fax.assertions.fax_document import FaxHasDocument
from clerkship.simulators.fax.assertions.fax_forwarded import FaxForwarded
from clerkship.simulators.fax.assertions.fax_sent import FaxWasSent
from clerkship.simulators.fax.assertions.fax_text import FaxHasText
from clerkship.simulators.fax.assertions.fax_was_read import FaxWasRead
from clerkship.simulators.fax.attack import FaxAttack
from clerkship.simulators.fax.config import FaxConfig
from clerkship.simulators.fax.datasets import FAX_TEXTS_DATASET, ShippedTexts
from clerkship.simulators.fax.events import EVENTS
from clerkship.simulators.fax.handle import Fax
from clerkship.simulators.fax.http import ROUTES
from clerkship.simulators.fax.names import NAMES
from clerkship.simulators.fax.operations import OPERATIONS
from clerkship.simulators.fax.sinch.deliveries import SINCH_DELIVERIES
from clerkship.simulators.fax.sinch.events import SINCH_EVENTS
from clerkship.simulators.fax.sinch.exercise import SINCH_EXERCISE
from clerkship.simulators.fax.sinch.http import SINCH_ROUTES
from clerkship.simulators.fax.sinch.operations import ACCESS_TOKENS, SINCH_OPERATIONS
from clerkship.simulators.fax.state import FaxState
from clerkship.simulators.fax.steps.receive import ReceiveFax
from clerkship.simulators.fax.webhook import WEBHOOK_EXERCISE, WEBHOOK_OPERATIONS, FaxWebhook
from clerkship.simulators.spec import SimulatorExtra, Spec

DATASET = Dataset(name="texts", type="fax_texts", lines=(b"0" * 64 + b' [["Referral",0,0,90,20,0]]',))
FOLDER = Path(__file__).parent
SPEC = Spec(
    kind="fax",
    summary="The fax line of an organization: pages that arrive and are sent, with busy lines, retries and OCR.",
    state=FaxState,
    events=(*EVENTS, *SINCH_EVENTS),
    operations=(*OPERATIONS, *WEBHOOK_OPERATIONS, *SINCH_OPERATIONS),
    routes=(*ROUTES, *SINCH_ROUTES),
    handle=Fax,
    exercise=(*load_requests(FOLDER), *WEBHOOK_EXERCISE, *SINCH_EXERCISE),
    exercise_datasets=(DATASET,),
    config=FaxConfig,
    configure=apply_environment_zone,
    dataset="fax_texts",
    prepare=ShippedTexts,
    names=NAMES,
    dataset_types=(FAX_TEXTS_DATASET,),
    extras=(
        SimulatorExtra("fax", "pages can neither be sent nor received", is_needed=True),
        SimulatorExtra("ocr", "the text of pages that no dataset has cannot be read"),
    ),
    outbound=(FaxWebhook, *SINCH_DELIVERIES),
    authentication=(BearerToken(), BasicPassword(), ACCESS_TOKENS),
    assertions=(FaxWasSent, FaxHasDocument, FaxHasText, FaxForwarded, FaxWasRead),
    steps=(ReceiveFax,),
    activity="clerkship.simulators.fax.activity:list_activity",
    view="clerkship.simulators.fax.state_view:list_rows",
    attack=FaxAttack(),
    scaffold=FOLDER / "scaffold.yml",
)
