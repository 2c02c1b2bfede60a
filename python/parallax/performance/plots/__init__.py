"""Figures of measured time. Each module turns plain data into Picture objects; nothing here reads files."""
