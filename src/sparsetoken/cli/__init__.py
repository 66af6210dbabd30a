"""The command line: it parses, calls and prints."""

from sparsetoken.cli.app import app, main

__all__ = ["app", "main"]
