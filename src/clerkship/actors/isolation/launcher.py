"""Deny this process the paths it is told to, by Landlock, and become the program that is named after them.

Run as `python -I -S launcher.py DESCRIPTOR PROGRAM ARGUMENT…`; it imports nothing but the standard library.
Exit code 126: the kernel refused. Exit code 127: the program could not be started.
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
REFUSED, NOT_STARTED = 126, 127


class Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`; older kernels know its beginning."""

    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class PathRule(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def abi() -> int:
    """Return the version of Landlock that the kernel has; 0 where it has none."""
    try:
        return max(0, _call(CREATE_RULESET, None, 0, VERSION_FLAG))
    except OSError:
        return 0


def handled(version: int) -> int:
    """Return the rights on files that a version knows, which are all denied unless allowed."""
    rights = FIRST_RIGHTS
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        rights |= right if version >= since else 0
    return rights


def restrict(hidden: list[str], shown: list[str]) -> None:
    """Deny this process, and all it starts, the hidden paths; and signals to others, where the kernel can."""
    version = abi()
    rights = handled(version)
    attributes = Ruleset(rights, 0, SCOPE_SIGNAL if version >= 6 else 0)
    size = 24 if version >= 6 else 8
    ruleset = _call(CREATE_RULESET, ctypes.byref(attributes), size, 0)
    _allow_around(ruleset, "/", {tuple(path.strip("/").split("/")) for path in hidden}, rights)
    for path in shown:
        _allow(ruleset, path, rights)
    _drop_privileges()
    _call(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _drop_privileges() -> None:
    """Gain none by starting programs; as root, lose those that read the memory and environment of other processes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if os.geteuid() == 0:
        for capability in range(LAST_CAPABILITY + 1):
            if capability not in KEPT_CAPABILITIES:  # the kernel refuses those that it does not know
                libc.prctl(DROP_CAPABILITY, capability, 0, 0, 0)


def _allow_around(ruleset: int, folder: str, hidden: set[tuple[str, ...]], rights: int) -> None:
    """Allow all that is in a folder but the hidden paths, which are relative to it; the folder itself to be listed."""
    _allow(ruleset, folder, READ_DIR)
    below: dict[str, set[tuple[str, ...]]] = {}
    for first, *rest in hidden:
        below.setdefault(first, set()).add(tuple(rest))
    try:
        names = os.listdir(folder)  # noqa: PTH208  (pathlib is slow to import)
    except OSError:  # it may be searched and not listed; then nothing in it is allowed
        return
    for name in names:
        path = f"{folder.rstrip('/')}/{name}"
        if name not in below:
            _allow(ruleset, path, rights)
        elif () not in below[name]:
            _allow_around(ruleset, path, below[name], rights)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """Allow a file, or a folder and all in it. A link is not followed: its target has a rule of its own, or none."""
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
    """Read the paths, restrict this process, become the program."""
    with os.fdopen(descriptor, "rb") as file:
        paths = [os.fsdecode(path) for path in file.read().split(b"\0")[:-1]]
    end = paths.index("")
    try:
        restrict(paths[:end], paths[end + 1 :])
    except OSError as error:
        sys.stderr.write(f"not isolated, so not started: {error.strerror}\n")
        return REFUSED
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.stderr.write(f"{words[0]} could not be started: {error.strerror}\n")
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
