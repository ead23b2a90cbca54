"""Why the server refuses a request whose form is right. `clerkship.api.problems` says which status each one has."""

from clerkship.model.errors import ClerkshipError


class ObjectNotFound(ClerkshipError):
    """There is no such object, or the caller may not see it."""


class RequestConflict(ClerkshipError):
    """The request does not fit the state of the object."""


class PreconditionNotMet(ClerkshipError):
    """The object was changed since the caller read it."""


class ActionForbidden(ClerkshipError):
    """The key of the caller is valid, but does not allow this."""


class RequestUnderWay(RequestConflict):
    """The same request is being carried out. Its answer can be had in a moment."""
