"""Write the types of all questions anew: ``python -m bayesnb.inference``."""

from pathlib import Path

from bayesnb.inference.questions import stub

Path(__file__).with_name("methods.pyi").write_text(stub(), encoding="utf-8")
