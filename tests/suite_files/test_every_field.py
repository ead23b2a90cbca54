"""Every field of every assertion and step: an unknown value is a mistake, or it is free text on purpose."""

import types
import typing
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from clerkship.engine.catalog import RegisteredCatalog, build_catalog_without_plugins
from clerkship.model.call import AssertionCall
from clerkship.model.closed import REQUEST_METHOD
from clerkship.suite_files.call_check import TASK_SORTS, find_inner_models, plan_fields
from tests.suite_files.library_folder import LibraryFolder
from tests.test_reference_examples import DATASETS, ENVIRONMENT


def write_menu(node: str, start: str = "a", operator: str = "z") -> str:
    """Return a step with a phone tree of two nodes."""
    nodes = f"nodes: {{a: {node}, z: {{type: end, prompt: Bye}}}}"
    tree = f"{{name: t, start: {start}, operator: {operator}, values: {{v: x}}, {nodes}}}"
    return f"{{voice.menu: {{number: '+15550100150', tree: {tree}}}}}"


FREE_TEXT = {
    "names of the agent's own flows, slots, skills, tools and responses: its domain decides, if it has one": """
        ActionMatch: action arguments
        BlockAssertion: block_id skill_id
        FlowEndMatch: flow_id flow_step_id
        FlowNotStarted: flow_ids
        FlowStartedAssertion: flow_ids
        GenerativeResponse: utter_name utter_source
        NamedEntry: name
        PatternClarificationContains: flow_ids names
        SkillAssertion: skill_id
        StepMatch: step_id
        ToolCall: arguments tool_name
        ToolMatch: arguments mcp_server skill_id tool_name
        UtteranceMatch: utter_name
        ValueEntry: value
    """,
    "ids of CDS services and cards that the agent itself offers": """
        CallAssertion: service
        CardDecision: label reason service summary
        CdsFire: service
        OverrideWith: reason
    """,
    "words, and expectations of words, in messages, answers, cards, faxes, calls and files": """
        AnswerMatches: expected
        AttachmentMatch: content content_type name
        Button: payload title
        ExpectedCard: detail source suggestion summary
        ExpectedFeedback: comment reason suggestion
        FaxHasDocument: contains document not_contains text
        FaxHasText: text
        FilePresent: modified row text
        GenerativeResponseIsGrounded: ground_truth
        Hl7Acknowledged: text
        JudgedAssertion: statement
        MessageMatch: subject text
        PortalDocumentSent: text
        PromptMatch: pattern text
        UtteranceMatch: text_matches
        VerifiedWhen: values
        VoiceCaseOpened: subject
        VoiceDisclosed: values
        VoiceTranscript: contains matches not_contains
        VoicemailWasLeft: callback contains matches not_contains
    """,
    "words that a step brings into the run": """
        CallAgent: says voicemail
        Card: detail summary
        CardDecision: comment
        CardLink: label
        CardSource: label
        ChangePortal: announcement maintenance
        ChatSay: text
        Choice: speech
        ClinicalQuestion: choices text
        CollectNode: confirmation
        Determination: text
        DocumentSource: base64 text
        DraftContent: contact_name contact_phone note
        DraftDocument: base64 name text
        DropFile: base64 encoded text
        EndNode: prompt
        ErrorFaultStep: reason
        PastLine: agent person
        RefusingModelFaultStep: text
        HookNode: prompt
        InputNode: no_input no_match
        LeaveVoicemailStep: text
        OverrideWith: comment
        RecordedAuthorization: text
        PayerSetClaim: text
        PutLetter: subject text
        QueueNode: announcement music
        ReceiveFax: header seed
        ReceiveMessage: subject text
        SentBefore: subject text
        SpokenNode: prompt
        StepAttachment: base64 content_type name text
        StepDocument: name
        SuggestedAction: description
        Suggestion: label
        TransferNode: prompt
        UncheckedTree: name values version
        VoicemailNode: prompt
        ChangeMenu: version
    """,
    "names, numbers and ids that a step brings into the run, which need not exist before": """
        CallAgent: sender
        Card: uuid
        ClinicalQuestion: id
        CollectNode: variable
        Determination: number
        DropFile: path
        Hl7Send: control_id
        LeaveVoicemailStep: sender
        RecordedAuthorization: number reference
        PayerSetClaim: payment_number
        PayerSetEligibility: group
        PutLetter: reference
        ReceiveFax: id sender
        ReceiveMessage: sender
        RenameFile: to
        RequestedService: trace
        SentBefore: to
        SetConsent: number
        Suggestion: uuid
    """,
    "a number that a value of the phone tree may fill in": """
        TransferNode: number
    """,
    "what the simulated EHR tells a service; it need not be in a chart": """
        Card: extension
        CardLink: app_context extension
        CardSource: extension
        CdsCoding: code display system
        CdsFire: appointments dispatched encounter orders performer selections tasks user
        SuggestedAction: extension resource resource_id
        Suggestion: extension
    """,
    "ids that are drawn in the run, or parts of what a run holds": """
        CallMatch: call
        MessageMatch: in_reply_to thread
        ReceiveMessage: in_reply_to thread
    """,
    "codes of outside code systems, patterns of them, and codes of the payers' own": """
        Adjustment: reason
        Determination: reason
        DraftContent: diagnoses place requesting_npi servicing_npi
        MessageWasSent: code
        RecordedAuthorization: diagnoses provider_id reason
        PayerSetClaim: reason
        RequestMatch: diagnosis performer place procedure_code
        RequestedService: modifiers performer_id place procedure_code
        ServiceLine: code modifiers
    """,
    "paths in data of any form, and the values there: answers, files, contexts of hooks, FHIR resources, questions": """
        CallAssertion: order
        CdsServiceWasCalled: context order prefetch
        ExpectedResource: fields
        FieldMatch: expected path
        RecordedIn: path
        RequestMatch: answers
        Hl7Structural: answer
        PayerRecordState: answer
        VoiceCaseOpened: answer
    """,
    "numbers of versions, which belong to the policy beside them: a wrong one is an error of the criterion": """
        PolicyCited: version
    """,
    "values of fields in HL7 and X12 messages, and segments, which a site may add (Z segments)": """
        Hl7Field: expected
        Hl7Structural: segments
        MessageAssertion: correlate_by
        X12Field: expected
    """,
    "paths of files that the agent may write; a step on a missing file stops the run with an error": """
        DeleteFile: path
        FilePresent: path
        RenameFile: path
    """,
    "numbers of records that a payer or the payer portal gives in the run, and buttons, which may name a row": """
        PortalActionMatch: button record
        PortalDocumentSent: reference
    """,
    "quantities, and JSON of a patch, which are checked against the resource in the run": """
        ListedChange: quantities
        PatchOperation: value
    """,
    "ids and fields of records in tables, which functions may create, and arguments, which their schemas check": """
        CallFunction: arguments
        DeleteRecord: id
        IgnoredField: field
        PutRecord: id record
        ReferenceCall: arguments
        TableChange: fields id where
        TableFunctionReturns: arguments value
        TableState: id where
    """,
    "numbers and times, which pydantic reads from digits": """
        Adjustment: amount
        LeaveVoicemailStep: received
    """,
}
"""Fields that take any text, by the reason why they do."""

CHECKED_WITH_OTHERS = {
    "{fhir_resource_state: {resource_type: Patient, search: {nam: x}}}": "FhirResourceState: search",
    "{fhir_resource_state: {resource_type: Appointment, fields: [{path: statu, expected: booked}]}}": "FhirField: path",
    "{fhir_resource_state: {resource_type: Appointment, fields: [{path: status, expected: x}]}}": "FhirField: expected",
    "{fhir_was_read: {resource_type: Patient, search: {nam: x}}}": "ReadAssertion: search",
    "{fhir_was_read: {resource_type: Patient, where: {nam: x}}}": "ReadAssertion: where",
    "{fhir_no_other_changes: {must: [{type: Patient, search: {nam: x}}]}}": "ListedChange: search",
    "{fhir_no_other_changes: {must: [{type: Patient, where: {gender: x}}]}}": "ListedChange: where",
    "{fhir_no_other_changes: {must: [{type: Patient, fields: [nam]}]}}": "ListedChange: fields",
    "{fhir_no_other_changes: {must: [{type: Patient, elements: {nam: x}}]}}": "ListedChange: elements",
    "{payer_state: {record: claim, where: {statu: paid}}}": "PayerRecordState: where",
    "{portal_action: {action: viewed, page: requst}}": "PortalActionMatch: page",
    "{portal_action: {action: submitted, where: {statu: approved}}}": "PortalActionMatch: where",
    "{portal_state_match: {correlate_by: {resource: drafts, key: idd}}}": "PortalCorrelation: key",
    "{portal_state_match: {correlate_by: {resource: appeals, key: status, value: x}}}": "PortalCorrelation: value",
    "{portal_state_match: {correlate_by: {resource: drafts, key: id}, where: {statu: x}}}": "PortalStateMatch: where",
    "{x12_request: {transaction: '271'}}": "TransactionAssertion: transaction",
    "{x12_request: {transaction: '270', correlate_by: {9999/ZZ*1: x}}}": "TransactionAssertion: correlate_by",
    "{x12_request: {transaction: '270', fields: [{path: 9999/ZZ*1, expected: x}]}}": "X12Field: path",
    "{hl7_structural: {type: ADT^A08, fields: [{path: PIDD.5.1, expected: x}]}}": "Hl7Field: path",
    "{fhir.delete: {resource: Patient/zz-9}}": "ResourceStep: resource",
    "{fhir.delete: {type: Patient, id: zz-9}}": "ResourceStep: id",
    "{fhir.delete: {type: Patiant, id: zz-9}}": "ResourceStep: type",
    "{fhir.patch: {resource: Patient/p1, set: {gendre: male}}}": "FhirPatch: set",
    "{files.drop: {path: a, dataset: zzz, file: b}}": "DropFile: dataset",
    "{files.drop: {path: a, dataset: notes, file: zzz}}": "DropFile: file",
    "{files.drop: {path: a, template: zzz.txt}}": "DropFile: template",
    "{fax.receive: {from: '+15550100310', dataset: zzz, file: b}}": "ReceiveFax: dataset",
    "{fax.receive: {from: '+15550100310', dataset: notes, file: zzz}}": "ReceiveFax: file",
    "{fax.receive: {from: '+15550100310', text_file: zzz.txt}}": "ReceiveFax: text_file",
    "{fax.receive: {from: '+15550100310', template: referral_letter, fields: {zzz: x}}}": "DocumentSource: fields",
    "{hl7.send: {template: zzz.hl7}}": "Hl7Send: template",
    "{hl7.send: {message: zzz}}": "Hl7Send: message",
    "{hl7.send: {type: ZZZ^Z99, segments: PID|1}}": "Hl7Send: type",
    "{hl7.send: {type: ADT^A08, segments: zzz}}": "Hl7Send: segments",
    "{hl7.send: {type: ADT^A08, segments: PID|1, version: '9'}}": "Hl7Send: version",
    "{voice.menu: {number: '+15550100150', tree: zzz}}": "ChangeMenu: tree",
    write_menu("{type: end, prompt: Bye}", start="zzz"): "UncheckedTree: start",
    write_menu("{type: collect, prompt: Hi, variable: v, next: z}", operator="zzz"): "UncheckedTree: operator",
    write_menu("{type: say, prompt: Hi, next: zzz}"): "SayNode: next",
    write_menu("{type: menu, prompt: Hi, choices: [{key: '1', next: zzz}]}"): "Choice: next",
    write_menu("{type: menu, prompt: Hi, failed: zzz, choices: [{key: '1', next: z}]}"): "InputNode: failed",
    write_menu("{type: collect, prompt: Hi, variable: v, next: zzz}"): "CollectNode: next",
    write_menu("{type: branch, variable: zzz, cases: {x: z}, otherwise: z}"): "BranchNode: variable",
    write_menu("{type: branch, variable: v, cases: {x: zzz}, otherwise: z}"): "BranchNode: cases",
    write_menu("{type: branch, variable: v, cases: {x: z}, otherwise: zzz}"): "BranchNode: otherwise",
    write_menu("{type: hook, hook: payer.find_providr, outcomes: {found: z, not_found: z}}"): "HookNode: hook",
    write_menu("{type: hook, hook: payer.find_provider, outcomes: {fond: z, not_found: z}}"): "HookNode: outcomes",
    write_menu(
        "{type: hook, hook: payer.find_provider, arguments: {np: v}, outcomes: {found: z, not_found: z}}"
    ): "HookNode: arguments",
    write_menu(
        "{type: hook, hook: payer.find_provider, outcomes: {found: z, not_found: z}, max_visits: 2, exhausted: zzz}"
    ): "HookNode: exhausted",
    write_menu("{type: hours, opened: zzz, closed: z}"): "HoursNode: opened",
    write_menu("{type: hours, opened: z, closed: zzz}"): "HoursNode: closed",
    write_menu("{type: queue, wait: 1m, next: zzz}"): "QueueNode: next",
}
"""An unknown value in fields that are checked together with others, and the field."""

PROBES = (
    "no such value", "zzz", "ZZ9", "+15550199999", "zz@example.org", "Patient/zz-9", "fax_zz9", "zz/9.txt", "enp6",
    "ZZZ^Z99",
)  # fmt: skip
"""Texts that name nothing, in every form that a field may ask for."""
RESOLVED_BY_KEY = ("sandbox", "event", "where", "operation")
"""Keys that mean the same everywhere: the library checks them by their name. `where` counts beside `event`."""


class Place(typing.NamedTuple):
    """A field, and the class that declares it."""

    model: type[BaseModel]
    name: str

    @property
    def info(self) -> FieldInfo:
        return self.model.model_fields[self.name]

    def __str__(self) -> str:
        owner = next(each for each in reversed(self.model.__mro__) if self.name in getattr(each, "model_fields", {}))
        return f"{owner.__name__}.{self.name}"


def list_fields(models: Iterable[type[BaseModel]]) -> Iterator[Place]:
    """Yield every field of some models, and of the models in them."""
    waiting, seen = list(models), set[type[BaseModel]]()
    while waiting:
        model = waiting.pop()
        if model in seen or issubclass(model, AssertionCall):  # a nested assertion is checked like any other
            continue
        seen.add(model)
        for name, info in model.model_fields.items():
            yield Place(model, name)
            waiting += find_inner_models(info.annotation)


def without_models(annotation: Any) -> Any:
    """Return a type without the models in it, whose fields are looked at on their own; None if nothing is left."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner = without_models(arguments[0])
        return None if inner is None else Annotated[inner, *arguments[1:]]
    if origin in (Union, types.UnionType):
        left = [inner for inner in map(without_models, arguments) if inner not in (None, type(None))]
        return Union[tuple(left)] if left else None  # noqa: UP007
    return None if list(find_inner_models(annotation)) else annotation


def takes_any_text(place: Place) -> bool:
    """Return whether a field takes a text that names nothing, alone, in a list, or as a key or value of a map."""
    annotation = without_models(place.info.annotation)
    if annotation is None:
        return False
    metadata = tuple(place.info.metadata)
    try:
        adapter = TypeAdapter[Any](Annotated[annotation, *metadata] if metadata else annotation)
    except PydanticSchemaGenerationError:
        return True
    shapes = [shape for text in PROBES for shape in (text, [text], [[text]], {text: text}, {text: 1}, [{text: text}])]
    return any(accepts(adapter, shape) for shape in shapes)


def accepts(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value)
    except ValidationError:
        return False
    return True


def list_sorts(catalog: RegisteredCatalog) -> set[str]:
    """Return the sorts of names that something defines."""
    return {*TASK_SORTS, REQUEST_METHOD.sort, *(sort for spec in catalog.components() for sort in spec.names)}


def is_resolved(place: Place, sorts: set[str]) -> bool:
    """Return whether the library looks a name in this field up."""
    if place.name in RESOLVED_BY_KEY and (place.name != "where" or "event" in place.model.model_fields):
        return True
    markers = [plan.marker for plan in plan_fields(place.model) if plan.name == place.name]
    return any(marker is not None and marker.sort in sorts for marker in markers)


def split_listing(listing: str) -> Iterator[str]:
    """Yield `Class.field` for each field in lines such as `Class: field field`."""
    for line in filter(None, map(str.strip, listing.splitlines())):
        owner, _, names = line.partition(": ")
        yield from (f"{owner}.{name}" for name in names.split())


def list_free_text() -> set[str]:
    return {field for listing in FREE_TEXT.values() for field in split_listing(listing)}


def list_checked() -> set[str]:
    return {field for listing in CHECKED_WITH_OTHERS.values() for field in split_listing(listing)}


def test_every_field_is_closed_or_free_text_with_a_reason() -> None:
    catalog = build_catalog_without_plugins()
    models = [model for registry in (catalog.assertions, catalog.steps) for _, model in registry.items()]
    sorts = list_sorts(catalog)
    places = {str(place): place for place in list_fields(models)}
    is_open = {name for name, place in places.items() if takes_any_text(place) and not is_resolved(place, sorts)}
    listed = list_free_text() | list_checked()
    assert sorted(is_open - listed) == [], "declare their values with OneOf or NameOf, or list them here with a reason"
    assert sorted(listed - is_open) == [], "listed, but closed or gone"


def test_unknown_value_is_a_mistake_where_fields_are_checked_together(folder: LibraryFolder) -> None:
    is_step = {written: "." in written.partition(":")[0] for written in CHECKED_WITH_OTHERS}
    steps = "".join(f"\n      - {written}" for written in CHECKED_WITH_OTHERS if is_step[written])
    criteria = "".join(
        f"\n    - {{label: x, assertion: {written}}}" for written in CHECKED_WITH_OTHERS if not is_step[written]
    )
    folder.write("e.yml", yaml.safe_dump({"environment": ENVIRONMENT}))
    for number, dataset in enumerate(DATASETS):
        folder.write(f"dataset_{number}.yml", yaml.safe_dump({"dataset": dataset}))
    task = f"task:\n  name: A\n  scenario:\n    steps:{steps}\n  criteria:{criteria}\n"
    folder.write("t.yml", task)
    lines = [mistake.split(":")[1] for mistake in folder.lines() if mistake.startswith("t.yml:")]
    places = {number: line for number, line in enumerate(task.splitlines(), 1) if "zzz" in line or " - {" in line}
    assert [line for number, line in places.items() if str(number) not in lines] == []
