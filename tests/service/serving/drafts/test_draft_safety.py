"""Nothing that is pushed runs, learns a variable of the server, or takes its time and memory."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clerkship.model.errors import InputError
from clerkship.service.serving.server import Server
from tests.service.serving.drafts.small_suite import FILES, open_test_server

WRITES_A_FILE = """\
from pathlib import Path
Path({path!r}).write_text("it ran")
{rest}
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = open_test_server(tmp_path / "data")
    yield server
    server.close()


def test_no_pushed_program_runs(server: Server, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    program = WRITES_A_FILE.format(path=str(trace), rest="async def solve(task, sandboxes):\n    return 'done'\n")
    metadata = b"Metadata-Version: 2.1\nName: evil\nVersion: 1\n"
    pushed = {
        "tasks/solutions/write.py": program.encode(),
        "conftest.py": program.encode(),
        "tasks/conftest.py": program.encode(),
        "sitecustomize.py": program.encode(),
        "evil.py": program.encode(),
        "evil-1.dist-info/METADATA": metadata,
        "evil-1.dist-info/entry_points.txt": b"[clerkship.plugins]\nevil = evil:PLUGIN\n",
        "pyproject.toml": b"[project.entry-points.'clerkship.plugins']\nevil = 'evil:PLUGIN'\n",
        "actions.py": program.encode(),
    }
    before = set(sys.modules)
    server.drafts.push("office", {**FILES, **pushed})
    task = server.drafts.list("task").items[0]
    server.drafts.replace("task", task.id, {**task.model_dump(), "timeout": 5})
    server.drafts.publish("office")
    assert not trace.exists()
    assert [name for name in set(sys.modules) - before if name.partition(".")[0] in ("evil", "actions", "write")] == []
    with pytest.raises(InputError, match=r"unknown assertion `evil\.check`"):
        server.drafts.replace(
            "task", task.id, {**task.model_dump(), "criteria": [{"label": "a", "assertion": {"evil.check": {}}}]}
        )


def test_no_variable_of_the_server_is_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "3")
    text = FILES["tasks/write.yml"].replace(b"weight: 2.0", b"weight: ${SECRET_OF_THE_SERVER}")
    with pytest.raises(InputError, match=r"expected a number, not '\$\{SECRET_OF_THE_SERVER\}'") as refusal:
        server.drafts.push("office", {**FILES, "tasks/write.yml": text})
    assert "'3'" not in str(refusal.value)
    text = FILES["tasks/write.yml"].replace(b"limit: 0x10", b"limit: ${SECRET_OF_THE_SERVER} ${NOT_SET} $${KEPT}")
    server.drafts.push("office", {**FILES, "tasks/write.yml": text})
    shown = [each.model_dump_json() for each in server.drafts.list("task").items]
    assert any("${SECRET_OF_THE_SERVER} ${NOT_SET}" in each for each in shown)
    message = r"^task 'Write a letter' has variables: \$\{NOT_SET\}, \$\{SECRET_OF_THE_SERVER\}; "
    with pytest.raises(InputError, match=message):
        server.drafts.publish("office")


@pytest.mark.parametrize(
    "body", ["{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "{{ 7 * 7 }}"]
)
def test_prompt_templates_are_refused_and_not_filled(server: Server, body: str) -> None:
    conftest = b"evaluation:\n  llm: {provider: openai, model: m}\n  criteria_judge_prompt: judge.jinja2\n"
    with pytest.raises(InputError, match=r"^conftest\.yml:3:26: .*a server takes no prompt templates"):
        server.drafts.push("office", {**FILES, "conftest.yml": conftest, "judge.jinja2": body.encode()})


@pytest.mark.parametrize("template", ["{{ ''.__class__.__mro__ }}", "{{ person.__init__.__globals__ }}", "{{ 1/0 }}"])
def test_templates_of_tasks_have_no_access_to_python(server: Server, template: str) -> None:
    text = FILES["tasks/write.yml"].replace(b"{{ person.name }}", template.encode())
    with pytest.raises(InputError, match=r"^tasks/write\.yml:8:18: task\.task_item\.instruction: "):
        server.drafts.push("office", {**FILES, "tasks/write.yml": text})


def test_yaml_bombs_are_refused_with_their_place(server: Server) -> None:
    laughs = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(8)
    )
    bombs = {
        "more than 100,000 values": f"task:\n  name: x\n  task_item:\n    {laughs.replace(chr(10), chr(10) + '    ')}",
        "nested deeper": f"task: {'[' * 50_000}",
        "circular include": "task: !include bomb.yml\n",
        "it has 1.5 MB": "task: " + "x" * 1_500_000,
        "contains itself": "task: &a {task_item: *a}\n",
        "at most 1,000 patients": "dataset: {name: x, type: fhir, generate: {patients: 99999}}\n",
    }
    for message, text in bombs.items():
        with pytest.raises(InputError, match=message) as refusal:
            server.drafts.push("office", {**FILES, "bomb.yml": text.encode()})
        assert refusal.value.problems[0].file == "bomb.yml"


def test_files_of_the_server_cannot_be_read_by_a_draft(server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret.yml").write_text("- {label: secret}\n")
    for target in ("../../../secret.yml", str(tmp_path / "secret.yml"), "/etc/passwd"):
        text = FILES["tasks/count.yml"].replace(b"shared/criteria.yml", target.encode())
        with pytest.raises(InputError, match="outside the folder") as refusal:
            server.drafts.push("office", {**FILES, "tasks/count.yml": text})
        assert "secret}" not in str(refusal.value)
    (tmp_path / "data" / "drafts" / "personas").mkdir(parents=True)
    (tmp_path / "data" / "drafts" / "conftest.yml").write_text("evaluation: {llm_judge: {provider: x, model: y}}")
    server.drafts.push("office", FILES)
