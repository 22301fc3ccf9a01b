"""One module per command or group of commands: options, calls, and the result given to ``emit``.

These modules evaluate their annotations (no ``from __future__ import annotations``), as typer evaluates text more
slowly.
"""
