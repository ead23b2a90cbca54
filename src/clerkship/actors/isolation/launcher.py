"""Deny this process access to paths by Landlock, then execute a program.

Run as `python -I -S -c SOURCE DESCRIPTOR PROGRAM ARGUMENT…`; it imports only the standard library. Before it executes
the program it writes an empty line and waits for one, see `contract.READY`. Exit code 126: the kernel refused, or
standard input ended. Exit code 127: the program could not be started.
"""

import ctypes
import os
import stat
import sys

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
VERSION_FLAG = 1
PATH_BENEATH = 1
NO_NEW_PRIVILEGES, DROP_CAPABILITY = 38, 24  # PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP
KEPT_CAPABILITIES = (0, 1, 3)  # CAP_CHOWN, CAP_DAC_OVERRIDE and CAP_FOWNER: root can use files of other users as before
LAST_CAPABILITY = 63
SCOPE_SIGNAL = 2
# linux/landlock.h, LANDLOCK_ACCESS_FS_*
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
FIRST_RIGHTS = (1 << 13) - 1
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
READ_RIGHTS = EXECUTE | READ_FILE | READ_DIR
REFUSED, NOT_STARTED = 126, 127


class Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`; older kernels know its first field."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathRule(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the kernel's version of Landlock; 0 if it has none."""
    try:
        return max(0, _call(CREATE_RULESET, None, 0, VERSION_FLAG))
    except OSError:
        return 0


def handled(version: int) -> int:
    """Return the file access rights of a version; all are denied unless granted."""
    rights = FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        rights |= right if version >= since else 0
    return rights


def restrict(paths: list[str]) -> None:
    """Deny this process and its children the paths, and signals to other processes if the kernel supports it."""
    version = abi()
    rights = handled(version)
    attributes = Ruleset(rights, 0, SCOPE_SIGNAL if version >= 6 else 0)
    size = 24 if version >= 6 else 8
    ruleset = _call(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    allowed = {"h": 0, "r": READ_RIGHTS, "w": rights}
    marks = {tuple(path[1:].strip("/").split("/")): allowed[path[0]] for path in paths}
    _allow(ruleset, "/", READ_DIR)
    _allow_around(ruleset, "/", marks, rights)
    _drop_privileges()
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _drop_privileges() -> None:
    """Forbid new privileges; as root, drop those that read the memory and environment of other processes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if os.geteuid() == 0:
        for capability in range(LAST_CAPABILITY + 1):
            if capability not in KEPT_CAPABILITIES:  # the kernel refuses those that it does not know
                libc.prctl(DROP_CAPABILITY, capability, 0, 0, 0)


def _allow_around(ruleset: int, folder: str, marks: dict[tuple[str, ...], int], rights: int) -> None:
    """Grant access to the content of a folder: by its mark (relative to the folder), or with the given rights.

    A folder that contains marked paths can only be listed.
    """
    below: dict[str, dict[tuple[str, ...], int]] = {}
    for (first, *rest), right in marks.items():
        below.setdefault(first, {})[tuple(rest)] = right
    for name in {*below, *(_names(folder) if rights else ())}:
        path, inner = f"{folder.rstrip('/')}/{name}", below.get(name, {})
        own = inner.pop((), rights)
        if own:
            _allow(ruleset, path, READ_DIR if inner else own)
        if inner:
            _allow_around(ruleset, path, inner, own)


def _names(folder: str) -> list[str]:
    """Return the entries of a folder; none if it cannot be listed, so that nothing in it is granted."""
    try:
        return os.listdir(folder)  # noqa: PTH208  (pathlib is slow to import)
    except OSError:
        return []


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Grant access to a file, or to a folder and its content. Links are not followed."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone meanwhile
        return
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode):
            return
        rule = PathRule(rights if stat.S_ISDIR(mode) else rights & FILE_RIGHTS, descriptor)
        _call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    result = int(libc.syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"landlock: {os.strerror(ctypes.get_errno())}")
    return result


def main(descriptor: int, words: list[str]) -> int:
    """Read the paths, restrict this process, and execute the program."""
    with os.fdopen(descriptor, "rb") as file:
        paths = [os.fsdecode(path) for path in file.read().split(b"\0")[:-1]]
    try:
        restrict(paths)
    except OSError as error:
        sys.stderr.write(f"not isolated, so not started: {error.strerror}\n")
        return REFUSED
    os.write(1, b"\n")
    if os.read(0, 1) != b"\n":
        return REFUSED
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.stderr.write(f"{words[0]} could not be started: {error.strerror}\n")
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
