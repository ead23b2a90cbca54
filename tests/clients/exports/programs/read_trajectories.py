"""Read trajectories with Harbor's own models, and print what they hold."""

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory

read = []
for path in sorted(Path(sys.argv[1]).rglob("*.json")):
    trajectory = Trajectory.model_validate_json(path.read_text(encoding="utf-8"))
    results = [result for step in trajectory.steps if step.observation for result in step.observation.results]
    read.append(
        {
            "name": path.name,
            "sources": [step.source for step in trajectory.steps],
            "calls": [call.function_name for step in trajectory.steps for call in step.tool_calls or ()],
            "results": [result.content for result in results],
            "prompt_tokens": trajectory.final_metrics.total_prompt_tokens,
        }
    )
sys.stdout.write(json.dumps(read))
