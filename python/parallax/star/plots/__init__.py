"""Figures of runs of plx-star. Each module turns plain data into Picture objects; nothing here reads files."""
