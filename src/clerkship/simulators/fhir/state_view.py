"""What is shown of a chart at one moment: the records of the patients whom the trial is about."""

from collections.abc import Iterator
from functools import partial
from itertools import islice

import orjson

from clerkship.formats.cds_hooks.patient import find_patients
from clerkship.formats.fhir.display_text import format_title
from clerkship.formats.fhir.resource import parse_resource
from clerkship.formats.fhir.search import search_keys
from clerkship.formats.fhir.search.compartment import compartment_parameters, list_compartment_members
from clerkship.sandbox.state_view import StateRow, ViewedTrial
from clerkship.simulators.fhir.events import ResourceDeleted, ResourceRead, ResourcesSearched, ResourceWritten
from clerkship.simulators.fhir.state import FhirState

MAX_PATIENTS_SHOWN = 20
"""Patients of whom all resources are shown: those of the task, then those whose resources were read or written."""
PATIENT = "Patient"


def list_rows(state: FhirState, trial: ViewedTrial) -> Iterator[StateRow]:
    """List the resources that exist now, of those that the trial is about."""
    keys = trial.cache.get("keys") or trial.cache.setdefault("keys", select_keys(trial))
    rows: dict[tuple[str, bytes], StateRow] = trial.cache.setdefault("rows", {})
    for key in keys:
        data = state.data(key)
        if data is not None:
            yield rows.get((key, data)) or rows.setdefault((key, data), _build_row(key, data))


def _build_row(key: str, data: bytes) -> StateRow:
    title = format_title(parse_resource(data)).removeprefix(key).strip(" ,")
    return StateRow(key, key.partition("/")[0], title or key, read=partial(orjson.loads, data))


def select_keys(trial: ViewedTrial) -> list[str]:
    """Return the keys to show at every moment: of the trial's patients all resources, and what else it touched."""
    start, touched, found = trial.start, dict[str, None](), dict[str, None]()
    assert isinstance(start, FhirState)
    patients = {f"{PATIENT}/{id}": None for record in trial.entities.values() for id in find_patients(record)}
    touched.update({f"{record.get('resourceType')}/{record.get('id')}": None for record in trial.entities.values()})
    for event in trial.events:
        match event.payload:
            case ResourceWritten(type=type, id=id, resource=resource):
                touched[f"{type}/{id}"] = None
                patients.update({f"{PATIENT}/{id}": None for id in find_patients(resource)})
            case ResourceRead(type=type, id=id) | ResourceDeleted(type=type, id=id):
                touched[f"{type}/{id}"] = None
            case ResourcesSearched(found=matches, included=included):
                found.update(dict.fromkeys((*matches, *included)))
    for key in (*touched, *found):
        patients.update({f"{PATIENT}/{id}": None for id in find_patients(start.resource(key) or {})})
    keys = dict.fromkeys(patients)
    for patient in islice(patients, MAX_PATIENTS_SHOWN):
        for type in start.chart.types:
            for parameter in compartment_parameters(PATIENT, type):
                keys.update(dict.fromkeys(search_keys(start, type, [(parameter, patient)])))
    order = {type: place for place, type in enumerate(list_compartment_members(PATIENT))}
    return sorted({**keys, **touched, **found}, key=lambda key: order.get(key.partition("/")[0], len(order)))
