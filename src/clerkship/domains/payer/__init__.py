"""The payers of an environment: members, plans, authorizations, appeals and claims, without a transport."""

from clerkship.domains.contract import DomainSpec
from clerkship.domains.payer.assertions.payer_state import PayerRecordState
from clerkship.domains.payer.book import PayerDataset
from clerkship.domains.payer.config import PayerConfig, apply_environment_time
from clerkship.domains.payer.events import EVENTS
from clerkship.domains.payer.exercise import DATASET, EXERCISE
from clerkship.domains.payer.names import NAMES
from clerkship.domains.payer.state import PayerState
from clerkship.domains.payer.steps.determine import PayerDetermine
from clerkship.domains.payer.steps.set_authorization import PayerSetAuthorization
from clerkship.domains.payer.steps.set_claim import PayerSetClaim
from clerkship.domains.payer.steps.set_eligibility import PayerSetEligibility

SPEC = DomainSpec(
    kind="payer",
    summary="The payers: who is covered and for what, authorizations, appeals, and the status of claims.",
    state=PayerState,
    events=EVENTS,
    config=PayerConfig,
    dataset="fhir",
    prepare=PayerDataset,
    names=NAMES,
    configure=apply_environment_time,
    assertions=(PayerRecordState,),
    steps=(PayerDetermine, PayerSetAuthorization, PayerSetEligibility, PayerSetClaim),
    exercise=EXERCISE,
    exercise_datasets=(DATASET,),
)
