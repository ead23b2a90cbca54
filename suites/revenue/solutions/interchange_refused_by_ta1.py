"""Find the interchange that a TA1 refused, and send its groups again in a correct envelope."""

from clerkship.plugin.x12 import (
    OutgoingEnvelope,
    OutgoingGroup,
    find_values,
    parse_interchanges,
    render_interchange,
    validate_set,
)


def on_task(task_item, sandboxes):
    drop = sandboxes["drop"]
    refusals = {path: code for path in drop.list("inbound") if (code := find_refusal(drop.read_text(path)))}
    [(reply_path, code)] = refusals.items()
    stem = reply_path.removeprefix("inbound/").split(".")[0]
    sent = {path: parse_interchanges(drop.read_text(path))[0] for path in drop.list("outbound")}
    [path] = [each for each in sent if each.startswith(f"outbound/{stem}.")]
    number = max(int(each.control_number) for each in sent.values()) + 1
    groups = [OutgoingGroup(int(each.control_number), each.version, each.sets) for each in sent[path].groups]
    envelope = OutgoingEnvelope("CLINIC01", "CLEARING01", number, sandboxes.now)
    reply = sandboxes["clearing"].send(render_interchange(envelope, groups))
    [answer] = [each for interchange in parse_interchanges(reply) for each in interchange.sets if each.code == "277"]
    claims = validate_set(answer).tree.find_all("2200D")
    return {"file": path, "code": code, "claims": dict(map(read_claim, claims))}


def find_refusal(edi):
    """Return the code of a TA1 that refuses an interchange; empty if there is none."""
    acknowledgments = [each for interchange in parse_interchanges(edi) for each in interchange.acknowledgments]
    return next((each.value(5) for each in acknowledgments if each.value(4) == "R"), "")


def read_claim(claim):
    """Return our number of a claim, and what the payer says of it."""
    [account], [number] = find_values(claim, "2200D/REF[1=EJ]*2"), find_values(claim, "2200D/REF[1=1K]*2")
    return account, {"number": number, "paid": float(find_values(claim, "2200D/STC*5")[0])}
