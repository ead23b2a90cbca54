"""What every reply of the viewer has: headers that a browser enforces, and refusals in words."""

import re
from collections.abc import Sequence
from dataclasses import replace

from clerkship.by_name import load
from clerkship.model.errors import ClerkshipError, InputError
from clerkship.report.pages import hash_source
from clerkship.sandbox.request import Refusal, Reply, Request, refuse_as_json
from clerkship.store.contract import RunBusy, SealBroken
from clerkship.viewer.context import PREFIX, ViewerContext
from clerkship.viewer.routes import answer

HTML = "text/html; charset=utf-8"
CHANGE_HEADER = "x-clerkship-view"
"""The header that every change needs. A form of another site cannot send it."""
_SAFE_METHODS = ("GET", "HEAD")


def build_policy(styles: Sequence[str] = ()) -> str:
    """Return the content security policy of a page. `styles` are hashes of inline styles, such as `'sha256-…'`."""
    allowed = " ".join(("'self'", *styles))
    return (
        f"default-src 'none'; script-src 'self'; style-src {allowed}; img-src 'self' data:; "
        "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


_STYLE_HASH = re.compile(r"'sha256-[A-Za-z0-9+/=]+'")
MAX_HEAD_LENGTH = 2_000
"""Characters of a page in which its own policy stands."""


def reply_with_page(page: str, frame_styles: Sequence[str] = ()) -> Reply:
    """Return a page. Styles that stand in it are allowed if its own policy allows them by their hashes.

    Pages that it shows in frames have its policy too; `frame_styles` are their styles.
    """
    styles = (*_STYLE_HASH.findall(page[:MAX_HEAD_LENGTH]), *map(hash_source, frame_styles))
    return Reply(200, page.encode(), HTML, {"content-security-policy": build_policy(styles)})


def secure(reply: Reply) -> Reply:
    """Add the headers of every reply; those that the reply has win."""
    given = {name.lower(): value for name, value in reply.headers.items()}
    headers = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin",
        "content-security-policy": build_policy(),
    }
    return replace(reply, headers=headers | given)


def is_public(request: Request) -> bool:
    """Return whether a request is for a script or a style, which hold nothing of a run: pages in words need them."""
    return request.method in _SAFE_METHODS and request.path.startswith(f"{PREFIX}/static/")


def respond(context: ViewerContext, request: Request) -> Reply:
    """Answer a request of a reader who is known: a reply, or a refusal in words."""
    try:
        if request.method not in _SAFE_METHODS:
            _require_change_allowed(context, request)
        reply = answer(context, request)
    except Refusal as refusal:
        reply = describe_refusal(request, refusal)
    except (RunBusy, SealBroken) as error:
        reply = describe_refusal(request, Refusal(409, "conflict", str(error)))
    except InputError as error:
        reply = describe_refusal(request, Refusal(400, "invalid", str(error)))
    except ClerkshipError as error:
        reply = describe_refusal(request, Refusal(500, "failed", str(error)))
    return secure(reply)


def _require_change_allowed(context: ViewerContext, request: Request) -> None:
    if request.headers.get(CHANGE_HEADER) != "1":
        raise Refusal(403, "no_header", f"a change needs the header `{CHANGE_HEADER}: 1`")
    if not context.can_change:
        raise Refusal(403, "forbidden", "only people may change runs")


def describe_refusal(request: Request, refusal: Refusal) -> Reply:
    """Render a refusal: as a page for a browser that opens an address, else as JSON."""
    wants_page = "text/html" in request.headers.get("accept", "") and not request.path.startswith(f"{PREFIX}/data/")
    if not wants_page:
        return replace(refuse_as_json(refusal), headers=refusal.headers)
    page: str = load("clerkship.viewer.templates:render_message")(refusal.status, refusal.reason)
    return Reply(refusal.status, page.encode(), HTML, refusal.headers)
