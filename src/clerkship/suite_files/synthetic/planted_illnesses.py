"""Illnesses that fixed patients in every fifty have, so that even a small dataset has patients for tasks about them."""

PLANTED_ILLNESSES: dict[int, tuple[str, ...]] = {
    8: ("diabetes",),
    13: ("hypertension", "failure"),
    22: ("hypertension", "failure", "hypokalemia"),
    27: ("diabetes", "hyperlipidemia", "hypertension"),
    29: ("hypertension", "diabetes", "kidney3"),
    36: ("fibrillation", "hypertension"),
    41: ("coronary", "failure", "hyperlipidemia"),
    44: ("hypothyroidism", "anemia"),
}
"""Illnesses by place in a block of fifty patients."""
VISIBLE_ILLNESSES = ("obesity", "copd", "hypertension")
"""Illnesses that affect the build. A patient with two records has none of them, because both records would need it."""
AGE_RANGE = (60, 79)
"""Ages in years of these patients."""
