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
"""By the place among fifty."""
VISIBLE_ILLNESSES = ("obesity", "copd", "hypertension")
"""What a body shows: somebody with two records has none of it in either, as it would have to be in both."""
AGE_RANGE = (60, 79)
"""How old they are, in years."""
