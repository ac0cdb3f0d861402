"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

from nodewise.cli.app import main

__all__ = ["main"]
