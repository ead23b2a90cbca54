"""X12 for agents, solutions and plug-ins: read, check and write interchanges; the handle of a sandbox."""

from clerkship.formats.x12.interchange import parse_interchanges as parse_interchanges
from clerkship.formats.x12.segment_path import find_values as find_values
from clerkship.formats.x12.validation import validate_set as validate_set
from clerkship.formats.x12.writer import OutgoingEnvelope as OutgoingEnvelope
from clerkship.formats.x12.writer import OutgoingGroup as OutgoingGroup
from clerkship.formats.x12.writer import render_interchange as render_interchange
from clerkship.payer.inquiry import AuthorizationQuery as AuthorizationQuery
from clerkship.payer.inquiry import ClaimQuery as ClaimQuery
from clerkship.payer.inquiry import EligibilityInquiry as EligibilityInquiry
from clerkship.payer.inquiry import PartyQuery as PartyQuery
from clerkship.payer.inquiry import PersonQuery as PersonQuery
from clerkship.payer.inquiry import RequestedService as RequestedService
from clerkship.simulators.x12.handle import X12 as X12
from clerkship.simulators.x12.requests import RequestHeader as RequestHeader
from clerkship.simulators.x12.requests import build_authorization_inquiry as build_authorization_inquiry
from clerkship.simulators.x12.requests import build_authorization_request as build_authorization_request
from clerkship.simulators.x12.requests import build_claim_status_request as build_claim_status_request
from clerkship.simulators.x12.requests import build_eligibility_request as build_eligibility_request
from clerkship.simulators.x12.requests import render_requests as render_requests
