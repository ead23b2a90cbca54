"""The page about the EHR that calls CDS services."""

from collections.abc import Iterator
from typing import get_args

from clerkship.formats.cds_hooks.hooks import FIELD_TYPES, load_hooks
from clerkship.formats.cds_hooks.prefetch import MAX_TEMPLATES, USER_TOKENS
from clerkship.formats.cds_hooks.validation import MAX_CARDS, MAX_SERVICES, MAX_SYSTEM_ACTIONS, RULES
from clerkship.sandbox.authentication.jwks import JWKS_PATH
from clerkship.sandbox.authentication.jwt import ALGORITHM, MAX_JWT_LIFETIME
from clerkship.simulators.cds.config import CdsConfig
from clerkship.simulators.cds.events import FailureReason
from scripts.reference.render import render_page
from scripts.reference.tables import rows

_FAILURES = {
    "timed_out": "no complete answer within `time_limit`",
    "status": "a status other than 200",
    "missing_prefetch": "the status 412: the service lacks data",
    "invalid_json": "the body is not JSON, or nested too deep",
    "invalid_response": "the JSON has no list of cards",
    "too_large": "more bytes than `max_response`",
    "wrong_content_type": "the media type is not JSON",
    "redirected": "a redirect that is not followed, or more than three",
    "refused_by_policy": "a redirect to an address that may not be called",
    "not_reached": "no connection, or one that broke",
}


def cds_page() -> str:
    """Return the page of the EHR that calls CDS services."""
    assert set(get_args(FailureReason)) == _FAILURES.keys()
    return render_page(
        "cds.md",
        ALGORITHM=ALGORITHM,
        JWKS_PATH=JWKS_PATH,
        MAX_JWT_LIFETIME=MAX_JWT_LIFETIME,
        MAX_CARDS=MAX_CARDS,
        MAX_SERVICES=MAX_SERVICES,
        MAX_SYSTEM_ACTIONS=MAX_SYSTEM_ACTIONS,
        MAX_TEMPLATES=MAX_TEMPLATES,
        config=CdsConfig(),
        hooks=rows((f"`{name}`", hook.version, hook.when) for name, hook in load_hooks().items()),
        fields=rows(_list_fields()),
        tokens=", ".join(f"`{{{{{token}}}}}`" for token in USER_TOKENS),
        rules=rows((f"`{rule}`", text) for rule, text in RULES.items()),
        failures=rows((f"`{reason}`", text) for reason, text in _FAILURES.items()),
    )


def _list_fields() -> Iterator[tuple[str, str, str, str, str]]:
    for name, hook in load_hooks().items():
        for key, field in hook.context.items():
            required, token = "yes" if field.required else "", "yes" if field.token else ""
            yield f"`{name}`", f"`{key}`", required, token, f"{FIELD_TYPES[field.type]}: {field.text}"
