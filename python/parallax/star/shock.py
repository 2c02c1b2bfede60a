"""Where the shock of a blast is. Pure functions of shells: mean radius, mean density, volume.

A scheme spreads a shock over two or three cells, and the density behind that of a blast falls within as many: peaks,
half heights and slopes of the smeared profile are off by up to a cell. The moments of the shell are not: they change
only with the square of the smearing. Example to read: tests/star/test_shock.py.
"""

from __future__ import annotations

import numpy as np


def radius_of_shell(r, rho, volume, exact, exact_radius: float, share: float | None) -> float | None:
    """Radius of the exact blast whose shell has the moment found: the integral of (rho - rho_0) r^2 dV grows with R^5.

    exact: curve of the density, x: r, y: rho, its last value the density ahead; share: of the sphere inside the box.
    None when the blast is not wholly inside (share is None), or nothing was swept up.
    """
    if share is None or not np.all(np.isfinite(rho)):
        return None
    ahead = exact.y[-1]
    found = float(np.sum((rho - ahead) * r**2 * volume))
    integrand = 4 * np.pi * exact.x**4 * (exact.y - ahead)
    known = share * float(np.sum(0.5 * (integrand[1:] + integrand[:-1]) * np.diff(exact.x)))
    if found <= 0 or known <= 0:
        return None
    return exact_radius * (found / known) ** 0.2


def share_in_box(centre, lower, upper, reach: float) -> float | None:
    """Share of the sphere's directions that the box holds: halved for each side through the centre (a mirror).

    None when a sphere of radius `reach` leaves the box through another side.
    """
    share = 1.0
    for axis in range(3):
        for distance in (centre[axis] - lower[axis], upper[axis] - centre[axis]):
            if abs(distance) <= 1e-9 * reach:
                share *= 0.5
            elif distance < reach:
                return None
    return share


def steepest_fall(r: np.ndarray, rho: np.ndarray) -> float | None:
    """Radius where the density falls most steeply, refined by a parabola. Needs no exact solution."""
    if len(r) < 4 or not np.all(np.isfinite(rho)):
        return None
    slope, middle = np.diff(rho) / np.diff(r), 0.5 * (r[1:] + r[:-1])
    i = int(np.argmin(slope))
    if slope[i] >= 0:
        return None
    if 0 < i < len(slope) - 1:
        a, b, c = slope[i - 1 : i + 2]
        curvature = a - 2 * b + c
        if curvature > 0:
            return float(middle[i] + 0.5 * (a - c) / curvature * 0.5 * (middle[i + 1] - middle[i - 1]))
    return float(middle[i])


def jump(r: np.ndarray, rho: np.ndarray) -> float | None:
    """Radius of the largest drop between neighbouring points of the exact profile."""
    if len(r) < 2:
        return None
    i = int(np.argmin(np.diff(rho)))
    return float(0.5 * (r[i] + r[i + 1])) if rho[i + 1] < rho[i] else None
