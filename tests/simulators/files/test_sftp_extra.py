"""SFTP is an optional extra: a drop without it does not need asyncssh."""

import subprocess
import sys


def test_drop_does_not_import_asyncssh_before_listening() -> None:
    code = "import sys, clerkship.simulators.files as files; files.SPEC.listeners; print('asyncssh' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
