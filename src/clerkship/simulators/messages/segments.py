"""The parts of a text message in GSM 7-bit or UCS-2 (3GPP TS 23.038), alone or joined by headers (23.040)."""

from typing import Literal

SmsEncoding = Literal["GSM-7", "UCS-2"]
MAX_SMS_LENGTH = 1600
"""The characters of the longest text message that Twilio accepts."""
GSM_BASIC = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
"""The default alphabet (23.038 §6.2.1) without ESC: one septet each."""
GSM_EXTENSION = frozenset("\f^{}\\[~]|€")
"""The extension table (23.038 §6.2.1.1): ESC and another septet."""
MAX_GSM_ALONE, MAX_GSM_PART = 160, 153
MAX_UCS_ALONE, MAX_UCS_PART = 70, 67
_GSM = GSM_BASIC | GSM_EXTENSION


def find_encoding(text: str) -> SmsEncoding:
    """Return GSM-7 if all characters are in its alphabet, or else UCS-2."""
    return "GSM-7" if _GSM.issuperset(text) else "UCS-2"


def count_segments(text: str) -> int:
    """Return in how many parts a text message is sent; 1 for an empty one."""
    if find_encoding(text) == "GSM-7":
        sizes = [2 if character in GSM_EXTENSION else 1 for character in text]
        return _count_parts(sizes, MAX_GSM_ALONE, MAX_GSM_PART)
    sizes = [2 if character > "\uffff" else 1 for character in text]
    return _count_parts(sizes, MAX_UCS_ALONE, MAX_UCS_PART)


def _count_parts(sizes: list[int], alone: int, part: int) -> int:
    """Fill parts in order. A character of two units is never split between two parts."""
    if sum(sizes) <= alone:
        return 1
    count, used = 1, 0
    for size in sizes:
        if used + size > part:
            count, used = count + 1, 0
        used += size
    return count
