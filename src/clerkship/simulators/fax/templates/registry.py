"""The templates of faxes by name."""

from collections.abc import Mapping
from typing import Any

from clerkship.simulators.fax.templates import referral_letter
from clerkship.simulators.fax.templates.contract import FaxTemplate

TEMPLATES: Mapping[str, FaxTemplate[Any]] = {template.name: template for template in (referral_letter.TEMPLATE,)}
