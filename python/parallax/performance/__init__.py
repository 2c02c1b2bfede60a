"""The performance of any measured program: diagnosis, comparison of measurements, live view, merged traces.

Modules here never import parallax.star (tests/test_layers.py).
"""
