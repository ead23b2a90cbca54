"""HL7 v2 for agents, solutions and plug-ins: read messages, build fields, and the handle of a sandbox."""

from clerkship.formats.hl7.message import build_field as build_field
from clerkship.formats.hl7.message import parse_message as parse_message
from clerkship.simulators.hl7.handle import Hl7 as Hl7
