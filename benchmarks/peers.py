"""Other harnesses beside us: each in an environment of its own, the same work, one table of ratios.

    python -m benchmarks.peers [--only inspect_ai,deepeval] [--cases 1000] [--repeat 3]

Theirs and ours take turns, in processes of their own, and the best of the repetitions counts for both. Imports are
not in the seconds, nor is a warm-up of ten cases; the driver imports nothing of ours, so that it stays small. A peer
that cannot be installed or fails is a row that says why. Installs are kept under .cache/peers; delete a folder there
to install that peer anew.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from benchmarks.table import render_table, times

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(__file__).resolve().parent / "peer_work"
CACHE = ROOT / ".cache" / "peers"
LIMIT = 900.0  # seconds for one command
LONG = 2.0  # seconds after which a peer is not run again

Shape = Literal["single", "conversation", "load"]
SHAPES: dict[Shape, str] = {
    "single": "single cases",
    "conversation": "three-turn conversations",
    "load": "cases loaded from YAML",
}


class PeerFailed(Exception):
    """A peer could not be installed, or its work failed; the message becomes the row."""


@dataclass(frozen=True)
class Peer:
    """A harness: how to install it, which workloads it supports, and how to keep it off the network."""

    name: str
    package: str
    shapes: tuple[Shape, ...]
    commands: tuple[tuple[str, str], ...] = ()  # the program and its argument
    most: int = 1000  # cases: a slow one gets fewer, and so do we beside it
    npm: bool = False
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder in which it is installed."""
        return CACHE / self.name

    def program(self, name: str) -> str:
        """Return the path of one of its programs."""
        return str(self.folder / ("node_modules/.bin" if self.npm else "bin") / name)

    def script(self, scratch: Path, shape: Shape, cases: int) -> list[str]:
        """Return the command that does the work."""
        runner = shutil.which("node") or "node" if self.npm else self.program("python")
        file = WORK / f"{self.name}_work.{'mjs' if self.npm else 'py'}"
        return [runner, str(file), shape, str(cases), str(scratch)]


PEERS = (
    Peer(
        "inspect_ai",
        "inspect-ai",
        ("single", "conversation"),
        (("inspect", "--help"),),
        most=200,
    ),
    Peer("pydantic_evals", "pydantic-evals", ("single", "load")),
    Peer(
        "deepeval",
        "deepeval",
        ("single", "conversation"),
        (("deepeval", "--help"),),
        environment={
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "DEEPEVAL_DISABLE_DOTENV": "1",
            "DEEPEVAL_NO_INSPECT_PROMPT": "1",
        },
    ),
    Peer(
        "langwatch_scenario",
        "langwatch-scenario",
        ("single", "conversation"),
        most=100,
        environment={
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "SCENARIO_DISABLE_SIMULATION_REPORT_INFO": "true",
            "SCENARIO_HEADLESS": "true",
            "CI": "1",
        },
    ),
    Peer(
        "promptfoo",
        "promptfoo",
        ("single", "conversation"),
        (("promptfoo", "--help"),),
        most=200,
        npm=True,
        environment={
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
            "PROMPTFOO_DISABLE_SHARING": "1",
            "PROMPTFOO_CACHE_ENABLED": "false",
        },
    ),
)


class Cost(NamedTuple):
    """Wall and CPU seconds of the timed part, and peak megabytes of the process."""

    seconds: float
    cpu: float
    peak: float
    persisted: bool | None = None


class Size(NamedTuple):
    """The size of an install on disk."""

    distributions: int
    megabytes: float


@dataclass(frozen=True)
class Row:
    """A row of the table; missing figures are empty, and a note says why."""

    what: str
    peer: str
    theirs: str = ""
    ours: str = ""
    ratio: float | None = None
    cpu: float | None = None
    peaks: tuple[float, float] | None = None
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the cells in the order of the columns."""
        peaks = "" if self.peaks is None else "{:.0f} / {:.0f} MB".format(*self.peaks)
        note = " ".join(self.note.split())
        return (self.peer, self.what, self.theirs, self.ours, times(self.ratio), times(self.cpu), peaks, note)


HEAD = ("beside", "what", "theirs", "ours", "theirs ÷ ours", "in CPU", "peak memory", "note")


def render(rows: Sequence[Row]) -> str:
    """Return the table as Markdown."""
    return render_table(HEAD, [row.cells() for row in rows])


def seconds(value: float) -> str:
    """Return seconds with three significant digits."""
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def cost_row(what: str, peer: str, theirs: Cost, ours: Cost) -> Row:
    """Return a row that compares both sides."""
    kept = {True: "kept", False: "not kept", None: ""}
    told = theirs.persisted is not None and theirs.persisted is not ours.persisted
    return Row(
        what,
        peer,
        seconds(theirs.seconds),
        seconds(ours.seconds),
        theirs.seconds / ours.seconds,
        theirs.cpu / ours.cpu,
        (theirs.peak, ours.peak),
        f"theirs {kept[theirs.persisted]}, ours {kept[ours.persisted]}" if told else "",
    )


def best(costs: Sequence[Cost]) -> Cost:
    """Return the least of several measurements of each figure, because noise only adds."""
    return Cost(
        min(cost.seconds for cost in costs),
        min(cost.cpu for cost in costs),
        min(cost.peak for cost in costs),
        costs[-1].persisted,
    )


def surroundings(scratch: Path, more: dict[str, str]) -> dict[str, str]:
    """Return a minimal environment: its own home, no Python settings, and what keeps a peer off the network."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(scratch), "LANG": "C.UTF-8", **more}


def launched(command: list[str], scratch: Path, folder: Path, more: dict[str, str]) -> tuple[Cost, str]:
    """Run a command with the small launcher, and return its cost and output."""
    figures = scratch / "figures"
    line = [sys.executable, "-I", "-S", str(WORK / "launch.py"), str(figures), *command]
    process = subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=surroundings(scratch, more),
        start_new_session=True,
    )
    try:
        said, complaint = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise PeerFailed(f"not done after {LIMIT:.0f} s") from None
    if process.returncode:
        raise PeerFailed(last_line(complaint) or last_line(said) or f"exit code {process.returncode}")
    wall, cpu, peak = map(float, figures.read_text().split())
    return Cost(wall, cpu, peak), said


def last_line(text: str) -> str:
    """Return the last line, which is the error of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def worked(command: Callable[[Path], list[str]], folder: Path | None, more: dict[str, str]) -> Cost:
    """Run a script of peer_work in a temporary folder, and return its figures with the peak memory of its process."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        whole, said = launched(command(scratch), scratch, folder or scratch, more)
    told = json.loads(next(line for line in reversed(said.splitlines()) if line.startswith("{")))
    return Cost(told["seconds"], told["cpu"], whole.peak, told["persisted"])


def started(command: list[str], more: dict[str, str]) -> Cost:
    """Run a program once, from start to end."""
    with tempfile.TemporaryDirectory() as name:
        return launched(command, Path(name), Path(name), more)[0]


def taking_turns(repeat: int, theirs: Callable[[], Cost], ours: Callable[[], Cost]) -> tuple[Cost, Cost]:
    """Run both sides alternately, so that other load on the machine affects both; once, if the peer takes long."""
    pairs = [(theirs(), ours())]
    while len(pairs) < repeat and pairs[0][0].seconds < LONG:
        pairs.append((theirs(), ours()))
    return best([pair[0] for pair in pairs]), best([pair[1] for pair in pairs])


def our_work(shape: Shape, cases: int) -> Cost:
    """Measure the same work with Clerkship, in the current environment."""
    line = [sys.executable, str(WORK / "ours_work.py"), shape, str(cases)]
    return worked(lambda scratch: [*line, str(scratch)], None, {})


def our_start(argument: str) -> Cost:
    """Measure the start of our command line."""
    return started([str(Path(sys.executable).parent / "clerkship"), argument], {})


def work_rows(peer: Peer, title: str, cases: int, repeat: int) -> Iterator[Row]:
    """Return a row for each shape that the peer supports."""
    count = min(cases, peer.most)
    for shape in peer.shapes:
        what = f"{count:,} {SHAPES[shape]}"
        try:
            theirs, ours = taking_turns(
                repeat,
                lambda s=shape: worked(  # type: ignore[misc]
                    lambda scratch: peer.script(scratch, s, count), peer.folder if peer.npm else None, peer.environment
                ),
                lambda s=shape: our_work(s, count),  # type: ignore[misc]
            )
        except PeerFailed as problem:
            yield Row(what, title, "failed", note=str(problem))
        else:
            yield cost_row(what, title, theirs, ours)


def start_rows(peer: Peer, title: str, repeat: int) -> Iterator[Row]:
    """Return rows for the command line, measured after one start that warms the disk cache."""
    for program, argument in peer.commands:
        what = f"`{program} {argument}`"
        line = [peer.program(program), argument]
        try:
            started(line, peer.environment)
            our_start(argument)
            theirs, ours = taking_turns(
                repeat,
                lambda command=line: started(command, peer.environment),  # type: ignore[misc]
                lambda wanted=argument: our_start(wanted),  # type: ignore[misc]
            )
        except PeerFailed as problem:
            yield Row(what, title, "failed", note=str(problem))
        else:
            yield cost_row(what, title, theirs, ours)


def size_row(title: str, theirs: Size, ours: Size) -> Row:
    """Return a row that compares the installs; the ratio is that of the megabytes."""
    cell = "{0.distributions} packages, {0.megabytes:.0f} MB".format
    return Row("install", title, cell(theirs), cell(ours), theirs.megabytes / ours.megabytes)


def shell(line: list[str], folder: Path) -> None:
    """Run an installer; raise PeerFailed with its error."""
    hidden = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in os.environ.items() if name not in hidden}
    try:
        done = subprocess.run(
            line, cwd=folder, env=inherited, capture_output=True, text=True, timeout=LIMIT, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise PeerFailed(f"not installed: {problem}") from None
    if done.returncode:
        raise PeerFailed(f"not installed: {last_line(done.stderr) or done.returncode}")


def install_python(folder: Path, package: str) -> None:
    """Install a package in a new environment, from outside the project, where uv would apply our pins."""
    with tempfile.TemporaryDirectory() as name:
        outside = Path(name)
        shell(["uv", "venv", "-q", "--clear", "-p", sys.executable, str(folder)], outside)
        python = str(folder / "bin" / "python")
        shell(["uv", "pip", "install", "-q", "--compile-bytecode", "-p", python, package], outside)


def install_npm(folder: Path, package: str) -> None:
    """Install a package with npm."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n')
    shell(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", package], folder)


def install(peer: Peer) -> None:
    """Install a peer, unless it is installed completely."""
    done = peer.folder / "installed"
    if not done.exists():
        (install_npm if peer.npm else install_python)(peer.folder, peer.package)
        done.touch()


def packages(folder: Path) -> Path:
    """Return the site-packages of an environment."""
    return next(folder.glob("lib/python*/site-packages"))


def megabytes(folder: Path) -> float:
    """Return the size of the installed files, without bytecode and links."""
    files = (file for file in folder.rglob("*") if "__pycache__" not in file.parts and not file.is_symlink())
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def size_of(folder: Path, *, npm: bool) -> Size:
    """Return the number of packages and the megabytes of an install."""
    if npm:
        listed = json.loads((folder / "node_modules" / ".package-lock.json").read_text())["packages"]
        return Size(len(listed), megabytes(folder / "node_modules"))
    place = packages(folder)
    return Size(len(list(place.glob("*.dist-info"))), megabytes(place))


def version_of(peer: Peer) -> str:
    """Return the installed version."""
    if peer.npm:
        told = json.loads((peer.folder / "node_modules" / peer.package / "package.json").read_text())
        return str(told["version"])
    found = next(packages(peer.folder).glob(f"{peer.package.replace('-', '_')}-*.dist-info"))
    return found.name.removesuffix(".dist-info").rpartition("-")[2]


def our_size() -> Size:
    """Return the size of our core, installed as the peers are, without our pins."""
    with tempfile.TemporaryDirectory() as name:
        install_python(Path(name) / "env", str(ROOT))
        return size_of(Path(name) / "env", npm=False)


def peer_rows(peer: Peer, ours: Size, cases: int, repeat: int) -> Iterator[Row]:
    """Return all rows of one peer."""
    try:
        install(peer)
    except PeerFailed as problem:
        yield Row("install", peer.package, "failed", note=str(problem))
        return
    title = f"{peer.package} {version_of(peer)}"
    yield from work_rows(peer, title, cases, repeat)
    yield from start_rows(peer, title, repeat)
    yield size_row(title, size_of(peer.folder, npm=peer.npm), ours)


def chosen(only: str) -> list[Peer]:
    """Return the selected peers; `ours` may be selected too."""
    names = [name for name in only.split(",") if name and name != "ours"]
    known = {peer.name: peer for peer in PEERS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"no peer {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names] if only else list(PEERS)


def alone(cases: int, repeat: int) -> Iterator[Row]:
    """Return the rows of Clerkship without a peer."""
    for shape, words in SHAPES.items():
        cost = best([our_work(shape, cases) for _ in range(repeat)])
        yield Row(f"{cases:,} {words}", "nobody", ours=f"{seconds(cost.seconds)}, {cost.peak:.0f} MB")


def main() -> None:
    """Measure, print progress on standard error, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="names with commas between: " + ", ".join(p.name for p in PEERS))
    parser.add_argument(
        "--cases", type=int, default=1000, help="at most; slow peers get fewer, and so do we beside them"
    )
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    peers = chosen(options.only)
    rows: list[Row] = []
    if not peers:
        rows.extend(alone(options.cases, options.repeat))
    size = our_size() if peers else Size(0, 0.0)
    for peer in peers:
        print(f"{peer.package} ...", file=sys.stderr, flush=True)
        rows.extend(peer_rows(peer, size, options.cases, options.repeat))
    print(render(rows))


if __name__ == "__main__":
    main()
