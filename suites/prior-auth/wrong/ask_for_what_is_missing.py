"""File a knee MRI although the policy is not met, after doing all the rest."""

REQUEST = {
    "review": "services",
    "urgency": "standard",
    "place": "22",
    "servicing_npi": "9999900027",
    "diagnoses": ["M23.91"],
    "services": [{"code": "73721", "units": 1, "start": "2026-03-11", "end": "2026-03-11"}],
    "answers": {
        "joint": "Knee",
        "joint_side": "Right",
        "acute_injury": False,
        "conservative_therapy_weeks": 8,
        "joint_x_ray": True,
        "joint_x_ray_date": "2025-12-17",
        "surgery_planned": True,
    },
    "contact_name": "Maya Okafor",
    "contact_phone": "555-010-0140",
    "attest": True,
}


def file_it(task_item, sandboxes, reference):
    answer = reference(task_item, sandboxes)
    portal = sandboxes["portal"]
    member = {"payer": "CM002", "member_id": "CM561644690", "birth_date": "1985-04-24"}
    found = portal.api("POST", "/members/lookup", member)
    portal.api("POST", "/requests", {**REQUEST, "member": found["ref"]})
    return answer
