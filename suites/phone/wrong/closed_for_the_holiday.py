"""A wrong solution of the office that is closed that is more than changed calls."""

from clerkship.plugin import override_methods


def call_every_two_hours(task_item, sandboxes, reference):
    """Call the office every two hours until it has opened."""
    phone, ended = sandboxes["phone"], []

    def hang_up(original, call):
        ended.append(original(call))
        if len(ended) == 1:
            for _ in range(12):
                sandboxes.wait("2h")
                again = phone.dial("+18005550156")
                phone.hear(again)
                phone.hang_up(again)
        return ended[-1]

    return reference(task_item, override_methods(sandboxes, {"phone.hang_up": hang_up}))
