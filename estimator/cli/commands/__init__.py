"""One module for each command, or for commands that share all: options, calls, and the result given to ``emit``.

These modules evaluate their annotations (no ``from __future__ import annotations``), as typer does it slower from text.
"""
