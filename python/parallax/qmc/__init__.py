"""Reports of runs of plx-dca."""
