"""What the project's own parser and validator say of a message."""

from clerkship.formats.x12.interchange import NotX12, parse_interchanges
from clerkship.formats.x12.validation import validate_set


def find_our_errors(text: str) -> list[str]:
    """Return what is wrong with an interchange: in its envelopes, and in its transaction sets."""
    try:
        interchanges = parse_interchanges(text)
    except NotX12 as problem:
        return [str(problem)]
    errors = [problem.text for interchange in interchanges for problem in interchange.problems]
    for group in (group for interchange in interchanges for group in interchange.groups):
        errors += [problem.text for problem in group.problems]
        for transaction in group.sets:
            errors += [problem.text for problem in transaction.problems]
            validated = validate_set(transaction)
            errors += [validated.unsupported.text] if validated.unsupported else []
            errors += [error.text for error in validated.errors]
    return errors
