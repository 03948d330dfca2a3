"""The version of the package, written only here."""

__version__ = "0.2.0"
