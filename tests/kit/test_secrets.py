"""Data that is encrypted with a key."""

import pytest

from clerkship.kit.secrets import decrypt, encrypt

KEY = bytes(range(32))


@pytest.mark.parametrize("data", [b"", b"a", b"\0\0\0", b"a secret that is long", bytes(100_000)])
def test_encrypted_data_is_read_with_its_key_alone(data: bytes) -> None:
    sealed = encrypt(data, KEY)
    assert decrypt(sealed, KEY) == data
    assert encrypt(data, KEY) != sealed
    assert len(data) < 16 or data not in sealed
    for other, key in (
        (sealed, bytes(32)),
        (sealed[:-1] + bytes([sealed[-1] ^ 1]), KEY),
        (sealed[:10], KEY),
        (b"", KEY),
    ):
        with pytest.raises(ValueError, match="another key, or changed"):
            decrypt(other, key)
