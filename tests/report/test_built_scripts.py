"""The built scripts of the pages are those of their sources. Without Node, a digest in their first line says so."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clerkship.report import pages
from tests.clients.installs import install_lock

ROOT = Path(__file__).parents[2]
VIEWER = ROOT / "viewer"
BUILT = Path(pages.__file__).parent / "page" / "built"
SCRIPTS = ("report", "viewer")
FILES = ("package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
MAX_SECONDS = 300


def list_sources() -> list[Path]:
    """Return what the scripts are built from, in the order of their paths."""
    sources = [path for path in (VIEWER / "src").rglob("*") if path.suffix in (".ts", ".tsx")]
    return sorted([*sources, *(VIEWER / name for name in FILES)], key=lambda path: path.relative_to(VIEWER).as_posix())


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_was_built_from_the_sources_of_now(name: str) -> None:
    digest = hashlib.sha256()
    for path in list_sources():
        digest.update(path.relative_to(VIEWER).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    first = (BUILT / f"{name}.js").read_text(encoding="utf-8").partition("\n")[0]
    assert first == f"/* sources sha256:{digest.hexdigest()} */", "run `make viewer`, and commit what it writes"


def test_sources_never_set_html_and_name_no_registry() -> None:
    for path in list_sources():
        text = path.read_text(encoding="utf-8")
        assert "registry." not in text, path
        assert '"resolved"' not in text, path
        if path.name != "vite.config.ts":  # which keeps Preact from it
            assert "innerhtml" not in text.lower(), path
    for name in SCRIPTS:
        script = (BUILT / f"{name}.js").read_text(encoding="utf-8")
        assert ".innerHTML" not in script
        assert "</script" not in script


@pytest.fixture(scope="module")
def packages() -> Path:
    """Return the folder of the npm packages that build the scripts, installed once for each lock file."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    lock = (VIEWER / "package-lock.json").read_bytes()
    folder = ROOT / ".cache" / "viewer" / hashlib.sha256(lock).hexdigest()[:16]
    with install_lock(folder):
        if not (folder / "installed").is_file():
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(VIEWER / name, folder)
            command = [npm, "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
            if done.returncode != 0:
                pytest.skip(f"the packages cannot be installed: {done.stderr.strip()[-300:]}")
            (folder / "installed").touch()
    return folder / "node_modules"


def test_building_the_sources_gives_the_committed_scripts(packages: Path, tmp_path: Path) -> None:
    for path in list_sources():
        target = tmp_path / path.relative_to(VIEWER)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (tmp_path / "node_modules").symlink_to(packages)
    for name in SCRIPTS:
        done = subprocess.run(
            [packages / ".bin" / "vite", "build", "--mode", name, "--logLevel", "warn"],
            cwd=tmp_path,
            env={**os.environ, "CLERKSHIP_BUILT": str(tmp_path / "built")},
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "built" / f"{name}.js").read_bytes() == (BUILT / f"{name}.js").read_bytes()
