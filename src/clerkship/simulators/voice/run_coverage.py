"""What run coverage counts on phones: the nodes of the phone trees of the lines."""

from clerkship.sandbox.run_coverage import CoverageDimension
from clerkship.simulators.voice.events import NodeEntered
from clerkship.simulators.voice.tree_source import resolve_tree

DIMENSIONS = (
    CoverageDimension(
        "phone nodes",
        lambda config, base: [
            (tree.name, node)
            for tree in (resolve_tree(line.tree) for line in config.lines if line.tree is not None)
            for node in tree.nodes
        ],
        lambda event: (
            [(event["payload"]["tree"], event["payload"]["node"])] if event["kind"] == NodeEntered.kind else []
        ),
    ),
)
