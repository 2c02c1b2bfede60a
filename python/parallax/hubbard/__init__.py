"""Shared by the reports of plx-dca and plx-parquet: momenta, the Brillouin zone, the frame of the page."""
