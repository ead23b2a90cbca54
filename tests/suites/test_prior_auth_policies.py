"""The policies of `suites/prior-auth`: how long they are, and which of them decides on the day of the suite."""

import re
import shutil
from datetime import date
from pathlib import Path

import pytest

from clerkship.model.dataset import Dataset
from clerkship.payer.policies.dataset import read_policies
from clerkship.payer.policies.policy import Policy, search_versions
from clerkship.suite_files.load import load_library
from tests.workbench import CATALOG

SUITE = Path(__file__).parents[2] / "suites/prior-auth"
TODAY = date(2026, 3, 2)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The dataset alone: the tasks of the suite have tests of their own."""
    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(SUITE / "policies", folder / "policies")
    shutil.copy(SUITE / "policies.yml", folder)
    return load_library(folder, CATALOG, needs_task=False).datasets["payer-policies"]


@pytest.fixture
def policies(library: Dataset) -> dict[str, Policy]:
    return {policy.id: policy for policy in read_policies([library])}


def count_pages(data: bytes) -> int:
    found = re.search(rb"/Count (\d+) ", data)
    assert found is not None
    return int(found[1])


def test_the_versions_in_force_have_at_least_20_pages(library: Dataset, policies: dict[str, Policy]) -> None:
    in_force = [f"{policy.id}_{version.number}" for policy, version in search_versions([*policies.values()], day=TODAY)]
    assert len(in_force) == len(policies)
    assert sum(count_pages(library.files[f"policies/{stem}.pdf"]) for stem in in_force) >= 20


def test_policies_in_several_versions_change_what_they_ask_for(policies: dict[str, Policy]) -> None:
    several = {policy.id for policy in policies.values() if len(policy.versions) > 1}
    assert {"CM-RAD-014", "CM-RAD-022", "CM-SLP-007", "CM-PLN-101", "CM-ADM-001", "FED-PA-001"} <= several
    assert {each.find_status(TODAY) for each in policies["CM-RAD-014"].versions} == {"superseded", "in_force", "future"}


def test_one_version_decides_each_question_of_the_suite(policies: dict[str, Policy]) -> None:
    found = search_versions([*policies.values()], day=TODAY)
    in_force = {policy.id: version.number for policy, version in found}
    decisive = ("CM-RAD-014", "CM-SLP-007", "CM-PLN-101", "FED-PA-001", "CM-RAD-022", "CM-ADM-001")
    assert {in_force[id] for id in decisive} == {"2026.1"}
    assert policies["CM-PLN-101"].rank < policies["CM-RX-045"].rank
    assert policies["FED-PA-001"].rank < policies["CM-ADM-001"].rank


def test_every_file_of_the_folder_is_in_the_library(policies: dict[str, Policy]) -> None:
    assert {file.stem for file in (SUITE / "policies").glob("*.yml")} == set(policies)
