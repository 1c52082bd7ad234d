"""Turns recipe files into pages and machine-readable serving commands."""

__version__ = "0.1.0"
