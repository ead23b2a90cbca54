"""The policies of the payers as plain text, for agents that read documents."""

from collections.abc import Iterator, Sequence
from functools import partial

from clerkship.payer.policies.document import PolicyDocument, build_document, write_days
from clerkship.payer.policies.policy import Policy, PolicyVersion
from clerkship.payer.state import PayerState
from clerkship.sandbox.component import PublicDocument


def list_policy_documents(state: PayerState) -> Sequence[PublicDocument]:
    """Return every version of every policy."""
    return [
        PublicDocument(
            f"policies/{policy.id}/{version.number}",
            f"{policy.title} ({policy.id}, version {version.number}, {write_days(version).lower()})",
            partial(_write_text, policy, version),
        )
        for policy in state.book.policies.values()
        for version in policy.versions
    ]


def _write_text(policy: Policy, version: PolicyVersion) -> str:
    return "\n".join(_list_lines(build_document(policy, version)))


def _list_lines(document: PolicyDocument) -> Iterator[str]:
    yield f"{document.publisher}\n# {document.title}\n{document.line}\n"
    yield from (f"{label}: {value}" for label, value in document.facts)
    for number, section in enumerate(document.sections, 1):
        yield f"\n## {number}. {section.heading}\n"
        yield from section.paragraphs
        yield from (f"{place}. {text}" for place, text in enumerate(section.criteria, 1))
        yield from (" | ".join(row) for row in section.table)
