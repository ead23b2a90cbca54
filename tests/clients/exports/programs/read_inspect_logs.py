"""Read logs with Inspect's own reader, and print what they hold."""

import json
import sys

from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries

read = []
for info in list_eval_logs(sys.argv[1]):
    log = read_eval_log(info.name)
    summaries = read_eval_log_sample_summaries(info.name)
    samples = [read_eval_log_sample(info.name, id=row.id, epoch=row.epoch) for row in summaries]
    read.append(
        {
            "status": log.status,
            "metrics": {
                score.name: [metric.value for metric in score.metrics.values()] for score in log.results.scores
            },
            "samples": [[sample.id, sample.epoch, sample.scores["verdict"].value] for sample in samples],
            "same": {sample.uuid: sample.model_dump_json() for sample in samples}
            == {sample.uuid: sample.model_dump_json() for sample in log.samples},
            "roles": [message.role for message in max(samples, key=lambda sample: sample.id).messages],
            "tools": [message.text for sample in samples for message in sample.messages if message.role == "tool"],
            "tokens": {model: usage.total_tokens for model, usage in log.stats.model_usage.items()},
        }
    )
sys.stdout.write(json.dumps(read))
