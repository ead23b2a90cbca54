"""The payers of an environment: members, plans, authorizations, appeals and claims, without a transport."""

from clerkship.payer.assertions.payer_state import PayerRecordState
from clerkship.payer.assertions.policy_cited import PolicyCited
from clerkship.payer.book import NAMES, PayerDataset
from clerkship.payer.config import PayerConfig, apply_environment_time
from clerkship.payer.events import EVENTS
from clerkship.payer.exercise import DATASET, EXERCISE, POLICY_DATASET
from clerkship.payer.policies.catalog import list_policy_documents
from clerkship.payer.policies.dataset import POLICIES, POLICIES_DATASET
from clerkship.payer.state import PayerState
from clerkship.payer.steps import PayerDetermine, PayerSetAuthorization, PayerSetClaim, PayerSetEligibility
from clerkship.sandbox.component import DomainSpec

SPEC = DomainSpec(
    kind="payer",
    summary="The payers: who is covered and for what, authorizations, appeals, and the status of claims.",
    state=PayerState,
    events=EVENTS,
    config=PayerConfig,
    dataset="fhir",
    more_datasets=(POLICIES,),
    dataset_types=(POLICIES_DATASET,),
    prepare=PayerDataset,
    names=NAMES,
    configure=apply_environment_time,
    assertions=(PayerRecordState, PolicyCited),
    steps=(PayerDetermine, PayerSetAuthorization, PayerSetEligibility, PayerSetClaim),
    exercise=EXERCISE,
    exercise_datasets=(DATASET, POLICY_DATASET),
    documents=list_policy_documents,
    view="clerkship.payer.state_view:list_rows",
)
