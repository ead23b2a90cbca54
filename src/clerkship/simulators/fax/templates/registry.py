"""The templates of faxes by name."""

from collections.abc import Mapping
from typing import Any

from clerkship.simulators.fax.templates import (
    cover_sheet,
    denial_letter,
    laboratory_report,
    plain_letter,
    prior_authorization_cover,
    records_request,
    referral_letter,
)
from clerkship.simulators.fax.templates.contract import FaxTemplate

TEMPLATES: Mapping[str, FaxTemplate[Any]] = {
    template.name: template
    for template in (
        cover_sheet.TEMPLATE,
        denial_letter.TEMPLATE,
        laboratory_report.TEMPLATE,
        plain_letter.TEMPLATE,
        prior_authorization_cover.TEMPLATE,
        records_request.TEMPLATE,
        referral_letter.TEMPLATE,
    )
}
