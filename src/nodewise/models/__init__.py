"""Models: stacks of localized layers, and every model of the zoo by its name."""

from nodewise.models.architecture import Architecture
from nodewise.models.classifier import LGAT, LGCN, LGIN, Classifier
from nodewise.models.receptive_field import ReceptiveField
from nodewise.models.zoo import ZOO, build_model, localized_forms

__all__ = [
    "LGAT",
    "LGCN",
    "LGIN",
    "ZOO",
    "Architecture",
    "Classifier",
    "ReceptiveField",
    "build_model",
    "localized_forms",
]
