"""Print what RapidOCR reads in a picture: a list of texts with their boxes, as JSON."""

import json
import logging
import sys

from rapidocr import RapidOCR

logging.disable(logging.CRITICAL)
result = RapidOCR()(sys.argv[1])
texts = [] if result.txts is None else list(result.txts)
boxes = [] if result.boxes is None else [[[int(x), int(y)] for x, y in box] for box in result.boxes]
rows = [{"text": text, "box": box} for text, box in zip(texts, boxes, strict=True)]
sys.stdout.write(json.dumps(rows) + "\n")
