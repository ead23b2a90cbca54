"""The faults there are, by name, and chaos profiles: faults for a whole run, added before the steps of every scenario.

The module of the faults is imported when a file names one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from clerkship.by_name import load
from clerkship.model.errors import InputError
from clerkship.model.names import did_you_mean

if TYPE_CHECKING:
    from clerkship.model.call import StepCall
    from clerkship.sandbox.faults.contract import Fault, ModelFault

FAULTS: Mapping[str, str] = {
    "drip": "DripFault",
    "drop": "DropFault",
    "duplicate": "DuplicateFault",
    "error": "ErrorFault",
    "expired": "ExpiredFault",
    "latency": "LatencyFault",
    "truncated": "TruncatedFault",
}
"""The class of each, in `request_faults`."""
MODEL_FAULTS: Mapping[str, str] = {
    "model.error": "ModelErrorFault",
    "model.rate_limited": "RateLimitedModelFault",
    "model.refuses": "RefusingModelFault",
    "model.slow": "SlowModelFault",
    "model.truncated": "TruncatedAnswerFault",
}
"""The class of each fault of model calls, in `model_faults`. Their steps have the same names."""


def load_fault(name: str) -> "type[Fault]":
    """Return the class of a fault."""
    return cast("type[Fault]", load(f"{__package__}.request_faults:{FAULTS[name]}"))


def load_model_fault(name: str) -> "type[ModelFault]":
    """Return the class of a fault of model calls."""
    return cast("type[ModelFault]", load(f"{__package__}.model_faults:{MODEL_FAULTS[name]}"))


def load_faults() -> "tuple[type[Fault], ...]":
    """Return the class of every fault."""
    return tuple(map(load_fault, FAULTS))


PROFILES: Mapping[str, tuple[Mapping[str, Mapping[str, str | float]], ...]] = {
    "gentle": (
        {"fault.latency": {"by": "1s", "jitter": "2s", "probability": 0.05}},
        {"fault.error": {"status": 503, "retry_after": "5s", "probability": 0.02}},
        {"fault.drop": {"when": "request", "probability": 0.01}},
        {"fault.duplicate": {"probability": 0.01}},
    ),
    "rough": (
        {"fault.latency": {"by": "2s", "jitter": "28s", "probability": 0.2}},
        {"fault.expired": {"probability": 0.03}},
        {"fault.error": {"status": 503, "retry_after": "30s", "probability": 0.08}},
        {"fault.drop": {"when": "request", "probability": 0.03}},
        {"fault.duplicate": {"probability": 0.05}},
        {"fault.drop": {"when": "reply", "probability": 0.03}},
        {"fault.truncated": {"probability": 0.05}},
        {"fault.drip": {"over": "10s", "probability": 0.05}},
    ),
}


def find_chaos_profile(profile: str) -> "tuple[StepCall, ...]":
    """Return the steps of a profile. They are ordinary steps, so that a snapshot does not depend on the profile.

    Raises InputError if there is no such profile.
    """
    if profile not in PROFILES:
        raise InputError.of(f"unknown chaos profile `{profile}`", hint=did_you_mean(profile, PROFILES))
    model: type[StepCall] = load("clerkship.model.call:StepCall")
    return tuple(model.model_validate(step) for step in PROFILES[profile])
