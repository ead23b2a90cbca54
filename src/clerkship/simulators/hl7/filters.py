"""Filters for templates of HL7 messages."""

from collections.abc import Mapping

from clerkship.formats.hl7.data_types import to_hl7_time
from clerkship.formats.hl7.escape import escape
from clerkship.suite_files.template import Filter

FILTERS: Mapping[str, Filter] = {
    "hl7": lambda value, _, text: escape(text(value)),
    "hl7date": lambda value, _, __: to_hl7_time(str(value)),
}
