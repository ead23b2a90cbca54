"""AAA segments: why a payer does not process a request."""

from collections.abc import Iterable

from clerkship.formats.x12.writer import SetWriter
from clerkship.payer.answer import Rejection
from clerkship.simulators.x12.transactions.codes import Transaction, to_aaa

MAX_AAA = 9


def write_aaa(writer: SetWriter, rejections: Iterable[Rejection], transaction: Transaction) -> None:
    """Write the AAA segments of one loop: one per different rejection."""
    codes = dict.fromkeys(to_aaa(rejection, transaction) for rejection in rejections)
    for aaa in list(codes)[:MAX_AAA]:
        writer.add("AAA", aaa.is_valid, "", aaa.reason, aaa.action)
