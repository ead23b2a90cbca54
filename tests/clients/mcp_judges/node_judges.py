"""Programs for Node that judge an MCP server, and a proxy that adds the token, for those that cannot send one."""

import http.client
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clerkship.sandbox.mcp_access import McpAddress
from tests.actors.servers import Answered, Asked, Served
from tests.clients.installs import CACHE, CannotInstall, install_lock, run_installer

PROGRAMS = Path(__file__).parent / "programs"
HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length")


def install_judges() -> tuple[Path, Path]:
    """Return Node, of a version that the judges need, and the folder of their packages; skip the test without npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    wanted, folder = (PROGRAMS / "package.json").read_bytes(), CACHE / "mcp-judges"
    with install_lock(folder):
        done = folder / "installed.json"
        if not done.is_file() or done.read_bytes() != wanted:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_bytes(wanted)
            try:
                run_installer("mcp-judges", [npm, "install", "--no-package-lock", "--silent", "--prefix", str(folder)])
            except CannotInstall as problem:
                pytest.skip(str(problem))
            done.write_bytes(wanted)
    packages = folder / "node_modules"
    own = next(iter(sorted(packages.glob("node-linux-*/bin/node"))), None)
    node = own or Path(shutil.which("node") or "node")
    return node, packages / ".bin"


def run_judge(name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a judge to its end."""
    node, programs = install_judges()
    environment = os.environ | {"PATH": f"{node.parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    command = [str(node), str(programs / name), *arguments]
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=240
    )


@contextmanager
def add_token(address: McpAddress) -> Iterator[str]:
    """Serve an address that passes requests on to an endpoint, with its token; everything else stays as it is."""
    parts = urlsplit(address.url)

    def pass_on(asked: Asked) -> Answered:
        headers = {name: value for name, value in asked.headers.items() if name not in HOP_BY_HOP}
        headers["authorization"] = f"Bearer {address.token}"
        connection = http.client.HTTPConnection(parts.netloc, timeout=60)
        try:
            connection.request(asked.method, parts.path, asked.body, headers)
            response = connection.getresponse()
            given = {name: value for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP}
            return response.status, given, response.read()
        finally:
            connection.close()

    with Served(pass_on) as served:
        yield f"{served.url}/mcp"
