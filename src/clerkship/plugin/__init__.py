"""All that the author of a plug-in imports: the contracts, and what they are made of. What is not here may change."""

from clerkship.actors.contract import (
    NOTHING,
    Agent,
    AgentError,
    Described,
    Entry,
    History,
    Message,
    Preflighted,
    Remembering,
    Said,
    Say,
    Solver,
    Start,
    Starting,
    Turn,
)
from clerkship.actors.python import PythonSolver
from clerkship.actors.registry import Load
from clerkship.assertions.contract import Assertion, Check, FieldMatch, compared
from clerkship.domains.component import NoConfig
from clerkship.domains.contract import DomainCall, DomainSpec
from clerkship.events.agent import (
    ActionExecuted,
    BlockCancelled,
    BlockCompleted,
    BlockEntered,
    BlockInterrupted,
    BlockResumed,
    ClarificationOffered,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowResumed,
    FlowStarted,
    MemoryCleared,
    MemorySet,
    Noted,
    SkillActivated,
    SkillCancelled,
    SkillCompleted,
    SkillInterrupted,
    SkillResumed,
    SlotSet,
    ToolExecuted,
)
from clerkship.events.event import Event, Payload, Utterance
from clerkship.events.evidence import Evidence
from clerkship.events.query import field_check
from clerkship.events.states import NoSuchState
from clerkship.faults.contract import Fault, Spoiled
from clerkship.kit.ids import Ids
from clerkship.kit.rng import Rng
from clerkship.library.dataset_type import DatasetSource, DatasetType
from clerkship.library.documents.document import FileDocument, Forms
from clerkship.library.finding import BadBinding, EntityFinder, RecordFinder
from clerkship.library.source import Unreadable
from clerkship.library.template import Filter
from clerkship.model.dataset import Dataset, DatasetFile, Record
from clerkship.model.domain import Abilities, Domain
from clerkship.model.duration import Duration, parse_duration
from clerkship.model.environment import Environment
from clerkship.model.frozen import Flag, Frozen, Number, Whole
from clerkship.model.matcher import describe, holds
from clerkship.model.path import MISSING, lookup
from clerkship.model.problem import InputError, PlatformError, Problem
from clerkship.model.record_view import RecordView
from clerkship.model.run import FieldCheck
from clerkship.model.scenario import EventMatch, Expected
from clerkship.model.task import Entity
from clerkship.plugin.contract import CONTRACT, Plugin
from clerkship.reactions.contract import React, ReactionPair
from clerkship.sandbox.attack import Harm, SandboxAttack
from clerkship.sandbox.authentication.basic import BasicPassword
from clerkship.sandbox.authentication.bearer import BearerToken
from clerkship.sandbox.authentication.cookie import CookieSession
from clerkship.sandbox.authentication.message import MessageAddress
from clerkship.sandbox.authentication.oauth import ClientCredentials
from clerkship.sandbox.authentication.scheme import AuthenticationScheme
from clerkship.sandbox.authentication.signed import SignedRequest
from clerkship.sandbox.authentication.ssh import SshUser
from clerkship.sandbox.changes import RecordChange
from clerkship.sandbox.cors import CorsPolicy
from clerkship.sandbox.door import Dropped, Handle, Incomplete, Refused, Sandboxes
from clerkship.sandbox.exchange import (
    JSON,
    NO_REPLY,
    ByteStream,
    Refusal,
    Reply,
    Request,
    json_reply,
    redirect,
    refuse_as_json,
)
from clerkship.sandbox.listener import ConnectionInfo, ProtocolListener, SandboxClient, SandboxDirectory
from clerkship.sandbox.operation import NoInput, Operation, OperationCall, OperationContext, operation
from clerkship.sandbox.route import HttpCall, Route
from clerkship.sandbox.state import ActionContext, Conversation, ReactionResult, State
from clerkship.sandbox.websocket import WebSocketCall, WebSocketHandler, WebSocketSession
from clerkship.settings import Settings
from clerkship.simulators.spec import Spec, TaskScaffold
from clerkship.steps.contract import Stage, Step
from clerkship.transports.assets import AssetFolder
from clerkship.transports.multipart import FormPart, parse_form
from clerkship.transports.outbound.delivery import DeliveryFailed, OutboundDelivery
from clerkship.transports.outbound.http import WebhookDelivery, json_request
from clerkship.transports.outbound.retry import RetryPolicy
from clerkship.transports.websocket_handshake import websocket_route

__all__ = [
    "CONTRACT",
    "JSON",
    "MISSING",
    "NOTHING",
    "NO_REPLY",
    "Abilities",
    "ActionContext",
    "ActionExecuted",
    "Agent",
    "AgentError",
    "Assertion",
    "AssetFolder",
    "AuthenticationScheme",
    "BadBinding",
    "BasicPassword",
    "BearerToken",
    "BlockCancelled",
    "BlockCompleted",
    "BlockEntered",
    "BlockInterrupted",
    "BlockResumed",
    "ByteStream",
    "Check",
    "ClarificationOffered",
    "ClientCredentials",
    "ConnectionInfo",
    "Conversation",
    "CookieSession",
    "CorsPolicy",
    "Dataset",
    "DatasetFile",
    "DatasetSource",
    "DatasetType",
    "DeliveryFailed",
    "Described",
    "Domain",
    "DomainCall",
    "DomainSpec",
    "Dropped",
    "Duration",
    "Entity",
    "EntityFinder",
    "Entry",
    "Environment",
    "Event",
    "EventMatch",
    "Evidence",
    "Expected",
    "Fault",
    "FieldCheck",
    "FieldMatch",
    "FileDocument",
    "Filter",
    "Flag",
    "FlowCancelled",
    "FlowCompleted",
    "FlowInterrupted",
    "FlowResumed",
    "FlowStarted",
    "FormPart",
    "Forms",
    "Frozen",
    "Handle",
    "Harm",
    "History",
    "HttpCall",
    "Ids",
    "Incomplete",
    "InputError",
    "Load",
    "MemoryCleared",
    "MemorySet",
    "Message",
    "MessageAddress",
    "NoConfig",
    "NoInput",
    "NoSuchState",
    "Noted",
    "Number",
    "Operation",
    "OperationCall",
    "OperationContext",
    "OutboundDelivery",
    "Payload",
    "PlatformError",
    "Plugin",
    "Preflighted",
    "Problem",
    "ProtocolListener",
    "PythonSolver",
    "React",
    "ReactionPair",
    "ReactionResult",
    "Record",
    "RecordChange",
    "RecordFinder",
    "RecordView",
    "Refusal",
    "Refused",
    "Remembering",
    "Reply",
    "Request",
    "RetryPolicy",
    "Rng",
    "Route",
    "Said",
    "SandboxAttack",
    "SandboxClient",
    "SandboxDirectory",
    "Sandboxes",
    "Say",
    "Settings",
    "SignedRequest",
    "SkillActivated",
    "SkillCancelled",
    "SkillCompleted",
    "SkillInterrupted",
    "SkillResumed",
    "SlotSet",
    "Solver",
    "Spec",
    "Spoiled",
    "SshUser",
    "Stage",
    "Start",
    "Starting",
    "State",
    "Step",
    "TaskScaffold",
    "ToolExecuted",
    "Turn",
    "Unreadable",
    "Utterance",
    "WebSocketCall",
    "WebSocketHandler",
    "WebSocketSession",
    "WebhookDelivery",
    "Whole",
    "compared",
    "describe",
    "field_check",
    "holds",
    "json_reply",
    "json_request",
    "lookup",
    "operation",
    "parse_duration",
    "parse_form",
    "redirect",
    "refuse_as_json",
    "websocket_route",
]
