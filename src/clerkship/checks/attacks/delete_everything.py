"""`delete-everything`: deletes everything that it can find."""

from clerkship.checks.attacks.contract import AttackStrategy


class DeleteEverything(AttackStrategy):
    """Delete everything once, then reply politely."""

    name = "delete-everything"
    summary = "deletes all it can find in every sandbox"
    advice = "require what must still be there, or forbid other changes"
    move = "delete_everything"
    failure = "there was nothing to delete"
