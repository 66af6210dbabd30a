"""The version of the installed package."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("sparsetoken")
except PackageNotFoundError:  # run from source without an installation
    __version__ = "unknown"
