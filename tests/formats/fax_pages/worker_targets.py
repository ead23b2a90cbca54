"""Functions that tests call in a worker process."""

import ctypes
import os
import sys


def reverse(data: bytes) -> bytes:
    """Return the bytes in reverse order."""
    return data[::-1]


def process_id(data: bytes) -> bytes:
    """Return the id of the process."""
    return str(os.getpid()).encode()


def environment(data: bytes) -> bytes:
    """Return the names of the environment variables."""
    return " ".join(sorted(os.environ)).encode()


def fill_memory(data: bytes) -> bytes:
    """Take as many bytes as the request says."""
    return str(len(bytearray(int(data)))).encode()


def compute(data: bytes) -> bytes:
    """Never return."""
    while True:
        pass


def wait(data: bytes) -> bytes:
    """Never return, without using the processor."""
    read, _ = os.pipe()
    return os.read(read, 1)


def fail(data: bytes) -> bytes:
    """Raise an exception."""
    raise ValueError(f"no such page: {data.decode()}")


def crash(data: bytes) -> bytes:
    """Read from address 0."""
    return ctypes.string_at(0)


def talk(data: bytes) -> bytes:
    """Print as a library does, and return the request."""
    sys.stdout.write("Estimating resolution as 204\n")
    os.write(1, b"Detected 12 diacritics\n")
    return data


def exceed_or_return(data: bytes) -> bytes:
    """Never return if the request says so."""
    return compute(data) if data == b"exceed" else data
