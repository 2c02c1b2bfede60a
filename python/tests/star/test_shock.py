"""The radius of a shock, from shells whose shock is known."""

import numpy as np
import pytest

from parallax.star import profiles
from parallax.star.profiles import Curve

radius, cell = 0.6, 0.02
fine = np.linspace(0, 1, 5001)
middles = 0.5 * (fine[1:] + fine[:-1])
volumes = 4 / 3 * np.pi * np.diff(fine**3)


def exact(r):
    """Sedov's shape, with the mass that was there: 4 (r/R)^9 behind, 1 ahead."""
    return np.where(r < radius, 4 * (r / radius) ** 9, 1.0)


def smeared(width):
    """The exact profile of a radius, spread over `width` (a standard deviation) without losing mass."""
    step = fine[1] - fine[0]
    offsets = np.arange(-500, 501) * step
    kernel = np.exp(-0.5 * (offsets / width) ** 2)
    mass = (exact(middles) - 1) * volumes
    spread = np.convolve(np.pad(mass, 500), kernel / kernel.sum(), "valid")
    return 1 + spread / volumes


def curve(of_radius):
    x = np.sort(np.concatenate([np.linspace(0, 1, 2001), [of_radius * (1 - 1e-12), of_radius * (1 + 1e-12)]]))
    return Curve(x, np.where(x < of_radius, 4 * (x / of_radius) ** 9, 1.0), None)


@pytest.mark.parametrize("width", [0.25 * cell, 0.5 * cell, cell, 1.5 * cell])
def test_smearing_moves_the_radius_of_the_shell_little(width):
    """Off by (width / R)^2, where the steepest place is off by a part of a cell."""
    found = profiles.radius_of_shell(middles, smeared(width), volumes, curve(radius), radius, 1.0)
    assert found == pytest.approx(radius, rel=(width / radius) ** 2 + 1e-4)


def test_a_blast_of_another_radius_is_measured():
    """The exact solution says 0.5, the cells hold one of 0.6."""
    found = profiles.radius_of_shell(middles, exact(middles), volumes, curve(0.5), 0.5, 1.0)
    assert found == pytest.approx(0.6, rel=1e-4)


def test_an_octant_is_an_eighth():
    found = profiles.radius_of_shell(middles, exact(middles), volumes / 8, curve(radius), radius, 0.125)
    assert found == pytest.approx(radius, rel=1e-4)


def test_no_shell():
    at_rest = np.ones_like(middles)
    assert profiles.radius_of_shell(middles, at_rest, volumes, curve(radius), radius, 1.0) is None
    assert profiles.radius_of_shell(middles, at_rest * np.nan, volumes, curve(radius), radius, 1.0) is None
    assert profiles.radius_of_shell(middles, exact(middles), volumes, curve(radius), radius, None) is None


def test_share_of_the_sphere_in_the_box():
    low, high = [-0.5] * 3, [0.5] * 3
    assert profiles.share_in_box([0, 0, 0], low, high, 0.4) == 1.0
    assert profiles.share_in_box([-0.5, 0, 0], low, high, 0.4) == 0.5
    assert profiles.share_in_box([-0.5, -0.5, -0.5], low, high, 0.9) == 0.125
    assert profiles.share_in_box([0, 0, 0], low, high, 0.6) is None
    assert profiles.share_in_box([0.2, 0, 0], low, high, 0.4) is None


def test_shock_position_is_the_steepest_fall():
    r = np.linspace(0, 1, 201)
    for width in (0.005, 0.01, 0.02):
        rho = 1 + 2.5 * (1 - np.tanh((r - 0.6123) / width))
        assert profiles.steepest_fall(r, rho) == pytest.approx(0.6123, abs=2e-4)
    assert profiles.steepest_fall(r, r) is None
    assert profiles.steepest_fall(r[:3], r[:3]) is None
    assert profiles.steepest_fall(r, np.full(201, np.nan)) is None


def test_jump_of_the_exact_solution():
    assert profiles.jump(np.array([0, 0.4, 0.4, 1]), np.array([1, 6, 1, 1])) == 0.4
    assert profiles.jump(np.array([0, 1]), np.array([1, 1])) is None
