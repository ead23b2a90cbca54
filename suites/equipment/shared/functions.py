"""The functions of the equipment desk. They check what is possible, not what the policy allows."""

from datetime import date, timedelta
from typing import Literal

KINDS = Literal["infusion pump", "bed", "bed scale", "ventilator"]
WARDS = Literal["3E", "ICU", "ED"]


def find_devices(db, kind: KINDS) -> list:
    """List the devices of a kind, with status and date of the last service."""
    return [{"id": id, **device} for id, device in db["devices"].items() if device["kind"] == kind]


def get_device(db, device_id: str) -> dict:
    """Return a device.

    Args:
        device_id: such as PUMP-01
    """
    return {"id": device_id, **db["devices"][device_id]}


def get_ward(db, ward_id: WARDS) -> dict:
    """Return a ward: its name, its staff and its loans."""
    loans = [loan for loan in db["loans"].values() if loan["ward"] == ward_id]
    return {"id": ward_id, **db["wards"][ward_id], "loans": loans}


def list_waiting(db, kind: KINDS) -> list:
    """List the wards that wait for a device of a kind."""
    return [entry for entry in db["waiting"].values() if entry["kind"] == kind]


def lend_device(db, now, new_id, device_id: str, ward_id: WARDS, days: int) -> dict:
    """Lend an available device to a ward.

    Args:
        device_id: such as PUMP-01
        days: for how many days, from today
    """
    device = db["devices"][device_id]
    if device["status"] != "available":
        raise ValueError(f"{device_id} is {device['status']}")
    if not 1 <= days <= 30:
        raise ValueError("a loan has 1 to 30 days")
    number = new_id("loan")
    due = (now.date() + timedelta(days=days)).isoformat()
    db["loans"][number] = {"number": number, "device": device_id, "ward": ward_id, "due": due, "extended": False}
    device["status"], device["loan"] = "lent", number
    return db["loans"][number]


def extend_loan(db, loan_number: str, days: int) -> dict:
    """Move the day on which a loan is due.

    Args:
        loan_number: such as L-1001
        days: how many days later
    """
    loan = db["loans"][loan_number]
    if not 1 <= days <= 30:
        raise ValueError("a loan is extended by 1 to 30 days")
    loan["due"] = (date.fromisoformat(loan["due"]) + timedelta(days=days)).isoformat()
    loan["extended"] = True
    return loan


def return_device(db, device_id: str, condition: Literal["clean", "used"]) -> dict:
    """Take a device back and end its loan. One that is used goes to cleaning."""
    device = db["devices"][device_id]
    if device["loan"] is None:
        raise ValueError(f"{device_id} is not lent")
    del db["loans"][device["loan"]]
    device["loan"] = None
    device["status"] = "available" if condition == "clean" else "cleaning"
    return {"id": device_id, **device}


def report_fault(db, device_id: str, description: str) -> dict:
    """Take a device out of use until it is repaired.

    Args:
        description: what is wrong with it
    """
    device = db["devices"][device_id]
    if device["loan"] is not None:
        raise ValueError(f"{device_id} is lent: take it back first")
    if not description.strip():
        raise ValueError("say what is wrong with it")
    device["status"], device["fault"] = "faulty", description
    return {"id": device_id, **device}
