"""Start a command and write down its wall seconds, CPU seconds and peak memory.

Run it as `python -I -S launch.py FIGURES COMMAND...`. It imports next to nothing, because a child's peak memory is
never counted as less than its parent's size.
"""

import os
import sys
import time

figures, *command = sys.argv[1:]
began = time.perf_counter()
child = os.posix_spawn(command[0], command, os.environ)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - began
with open(figures, "w") as file:  # noqa: PTH123  (pathlib would triple the size of this process)
    file.write(f"{wall} {usage.ru_utime + usage.ru_stime} {usage.ru_maxrss / 1024}")
sys.exit(os.waitstatus_to_exitcode(status))
