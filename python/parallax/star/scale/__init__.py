"""A measured run on simulated machines: `parallax scale RUN` (docs/scale.md). command.py says what happens in which
order; plx-scale (apps/scale/) does the replays."""
