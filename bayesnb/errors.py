"""All error and warning classes that the package defines."""

from bayesnb.data.readings import UnreadCellWarning
from bayesnb.data.targets import SeveralTargetsWarning
from bayesnb.data.text import NoKnownWordWarning
from bayesnb.data.warned import (
    ClassSpellingsWarning,
    EncodedColumnsWarning,
    IdentifierWarning,
    ManyClassesWarning,
    NumbersAsLevelsWarning,
    UnlabelledRowsWarning,
    UnseenLevelWarning,
)
from bayesnb.inference.classifier import FarRowError
from bayesnb.model import ImpossibleRowError, NoClosedFormError
from bayesnb.modelfile.container import ModelFileError
from bayesnb.modelfile.document import ModelChangedError
from bayesnb.priors import BoundaryError, ImproperError
from bayesnb.sampling.agreement import ConvergenceError
from bayesnb.wording import RefusedError

__all__ = [
    "BoundaryError",
    "ClassSpellingsWarning",
    "ConvergenceError",
    "EncodedColumnsWarning",
    "FarRowError",
    "IdentifierWarning",
    "ImpossibleRowError",
    "ImproperError",
    "ManyClassesWarning",
    "ModelChangedError",
    "ModelFileError",
    "NoClosedFormError",
    "NoKnownWordWarning",
    "NumbersAsLevelsWarning",
    "RefusedError",
    "SeveralTargetsWarning",
    "UnlabelledRowsWarning",
    "UnreadCellWarning",
    "UnseenLevelWarning",
]


def __dir__() -> list[str]:
    return __all__
