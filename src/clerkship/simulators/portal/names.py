"""The names that a payer portal defines, for steps and criteria to refer to."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from clerkship.model.closed import NameOf
from clerkship.simulators.portal.config import PortalConfig
from clerkship.simulators.portal.questions.shipped import merge_question_sets
from clerkship.simulators.portal.records import QUESTION

USER = NameOf("user of the payer portal")


def list_question_ids(config: PortalConfig) -> set[str]:
    """Return the ids of all clinical questions of a portal."""
    return {question.id for each in merge_question_sets(config.question_sets) for question in each.questions}


NAMES: Mapping[str, Callable[[PortalConfig, Any], Collection[str]]] = {
    USER.sort: lambda config, base: [each.username for each in (config.user, *config.colleagues)],
    QUESTION.sort: lambda config, base: list_question_ids(config),
}
