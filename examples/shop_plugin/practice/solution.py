"""What `--agent oracle` runs: the proof that the task can be passed."""

from shop_bench.agent import PolicyConsulted


def on_task(task_item, sandboxes):
    sandboxes.report(PolicyConsulted(rule="cancellation"))
    return sandboxes["shop"].cancel(task_item["order"], task_item["reason"])["status"]
