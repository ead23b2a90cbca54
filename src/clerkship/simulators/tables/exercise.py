"""Requests that use every operation of tables, over a small library of devices."""

import orjson

from clerkship.model.dataset import Dataset
from clerkship.sandbox.request import Request
from clerkship.simulators.tables.source import FILE
from clerkship.simulators.tables.table_set import NAMES_FILE, POLICY_FILE

_FUNCTIONS = '''
from typing import Literal


def find_devices(db, kind: str = "") -> list:
    """List devices.

    Args:
        kind: only devices of this kind
    """
    return [{"id": id, **device} for id, device in db["devices"].items() if kind in ("", device["kind"])]


def lend_device(db, now, new_id, device_id: str, ward: Literal["A", "B"], days: int = 7) -> dict:
    """Lend a device to a ward."""
    device = db["devices"][device_id]
    if device["loan"]:
        raise ValueError(f"{device_id} is lent already")
    loan = new_id("loan")
    db["loans"][loan] = {"device": device_id, "ward": ward, "days": days, "since": now.isoformat()}
    device["loan"] = loan
    return {"loan": loan}


def return_device(db, device_id: str) -> str:
    """Take a device back."""
    device = db["devices"][device_id]
    if not device["loan"]:
        raise ValueError(f"{device_id} is not lent")
    del db["loans"][device["loan"]]
    device["loan"] = None
    return "returned"
'''
_DEVICES = {"pump-1": {"kind": "pump", "loan": None}, "bed-1": {"kind": "bed", "loan": None}}
DATASET = Dataset(
    name="device library",
    type="tables",
    records=tuple({"type": "devices", "id": id, "record": device} for id, device in _DEVICES.items()),
    files={
        FILE: _FUNCTIONS.encode(),
        NAMES_FILE: orjson.dumps(["devices", "loans"]),
        POLICY_FILE: b"Lend each device once.\n",
    },
)
_LEND_PUMP = b'{"device_id": "pump-1", "ward": "A"}'
EXERCISE = (
    Request("GET", "/functions"),
    Request("GET", "/policy"),
    Request("POST", "/functions/find_devices", body=b'{"kind": "pump"}'),
    Request("POST", "/functions/lend_device", body=_LEND_PUMP),
    Request("POST", "/functions/lend_device", body=_LEND_PUMP),
    Request("POST", "/functions/lend_device", body=b'{"device_id": "bed-1", "ward": "B", "days": 2}'),
    Request("POST", "/functions/lend_device", body=b'{"device_id": "bed-9", "ward": "B"}'),
    Request("POST", "/functions/lend_device", body=b'{"device_id": "bed-1", "ward": "C"}'),
    Request("POST", "/functions/return_device", body=b'{"device_id": "pump-1"}'),
    Request("POST", "/functions/lend_device", body=_LEND_PUMP),
    Request("POST", "/functions/find_devices", body=b"{}"),
)
