"""Reports of runs of plx-parquet."""
