"""Results of criteria as they are stored."""

import orjson

from clerkship.model.frozen import encode_model
from clerkship.model.run import CriterionRun, PageMark, PagePicture

PICTURE = PagePicture(source="line", page="ab", marks=(PageMark(text="MRN-1", sort="found", boxes=((1, 2, 3, 4),)),))


def encode(result: CriterionRun) -> bytes:
    """Encode a result as the store does."""
    return orjson.dumps(result, default=encode_model)


def test_result_without_pictures_is_stored_as_before_there_were_any() -> None:
    stored = orjson.loads(encode(CriterionRun(label="x", assertion="a", status="judged")))
    assert "pictures" not in stored
    assert stored["evidence"] == []
    assert CriterionRun.model_validate(stored).pictures == ()


def test_pictures_are_stored_and_loaded() -> None:
    result = CriterionRun(label="x", assertion="a", status="judged", pictures=(PICTURE,))
    assert CriterionRun.model_validate_json(encode(result)) == result
