"""Regenerate the files that list the questions about a model: ``python -m bayesnb.inference``."""

from pathlib import Path

from bayesnb.inference.questions import written

for path, text in written().items():
    (Path(__file__).parents[1] / path).write_text(text, encoding="utf-8")
