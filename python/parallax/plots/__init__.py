"""Figures of a report. Each module turns plain data into Picture objects; nothing here reads files."""

from .picture import Picture, render

__all__ = ["Picture", "render"]
