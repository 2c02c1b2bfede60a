"""Runs of plx-star: run folders, mesh files, the report, the comparison of two runs, replays on simulated machines."""
