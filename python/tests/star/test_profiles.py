"""Profiles against the exact solution, where both are known by hand."""

import numpy as np
import pytest
import synthetic

from parallax import Run
from parallax.star import profiles


def test_profile_of_the_blast(shared_run):
    run = Run(shared_run)
    with run.mesh(-1) as mesh:
        found = profiles.profile(run, mesh, run.exact)
        cell = mesh.cell_width.min()
        volume = mesh.points(["rho"])[1].sum()
    assert found.coordinate == "r" and volume == pytest.approx(1.0, abs=1e-12)
    assert found.shock_exact == pytest.approx(0.42, abs=1e-12)
    assert abs(found.shock - 0.42) < 0.2 * cell
    assert found.l1["rho"] < 2e-3 and found.l1["vel"] < 1e-10
    expected = synthetic.density(found.cells["coordinate"], 0.42)
    assert np.array_equal(found.cells["rho"], expected)
    assert np.allclose(found.cells["vel"], synthetic.velocity(found.cells["coordinate"], 0.42), atol=1e-14)


def test_l1_error_is_the_volume_mean(tmp_path):
    """Density too large by 0.5 in one of eight blocks: L1 = 0.5/8."""

    def fields(x, y, z):
        return {
            "rho": 1 + 0.5 * ((x > 0) & (y > 0) & (z > 0)),
            "vel1": 0 * x,
            "vel2": 0 * x,
            "vel3": 0 * x,
            "press": 1 + 0 * x,
        }

    (tmp_path / "mesh").mkdir()
    path = tmp_path / "mesh" / "sedov.00000.athdf"
    synthetic.write_mesh(path, synthetic.octree(9.0, 0), fields, n=4)
    synthetic.write_csv(tmp_path / "exact.csv", {"r": [0, 2], "rho": [1, 1], "press": [1, 1]})
    run = Run(tmp_path)
    with run.mesh() as mesh:
        found = profiles.profile(run, mesh, run.exact)
    assert found.l1 == {"rho": 0.0625, "press": 0.0}
    assert found.shock_exact is None


def test_profile_along_x_is_from_the_middle_of_the_box(tmp_path):
    (tmp_path / "mesh").mkdir()
    step = {"root": (4, 1, 1), "lower": (0, 0, 0), "upper": (4, 1, 1)}
    synthetic.write_mesh(
        tmp_path / "mesh" / "sod.00000.athdf",
        [(0, (i, 0, 0)) for i in range(4)],
        lambda x, y, z: {
            "rho": np.where(x < 2, 1.0, 0.125) + 0 * y * z,
            "vel1": x,
            "vel2": 7 + 0 * x,
            "vel3": 0 * x,
            "press": x,
        },
        n=4,
        **step,
    )
    synthetic.write_csv(tmp_path / "exact.csv", {"x": [-2, 0, 0, 2], "rho": [1, 1, 0.125, 0.125], "vel": [0, 2, 2, 4]})
    run = Run(tmp_path)
    with run.mesh() as mesh:
        found = profiles.profile(run, mesh, run.exact)
    assert found.coordinate == "x" and found.shock is None
    assert found.l1 == {"rho": 0.0, "vel": 0.0}
    assert found.bins["coordinate"].tolist() == [(i + 0.5) / 4 - 2 for i in range(16)]


def test_every_level_is_seen_among_the_cells(tmp_path):
    path = tmp_path / "b.athdf"
    leaves = synthetic.octree(0.42, 3)
    synthetic.write_mesh(path, leaves, synthetic.blast(0.42), n=8)
    (tmp_path / "mesh").mkdir()
    path.rename(tmp_path / "mesh" / "sedov.00000.athdf")
    run = Run(tmp_path)
    with run.mesh() as mesh:
        found = profiles.profile(run, mesh, None, limit=3000)
        assert set(found.cells["level"]) == set(mesh.levels)
    assert 2000 < len(found.cells["rho"]) < 9000
    assert found.l1 == {} and found.shock == pytest.approx(0.42, rel=0.02)


def test_centre_comes_from_the_configuration(shared_run):
    with Run(shared_run).mesh() as mesh:
        assert profiles.Radial("sedov", {}, mesh).centre.tolist() == [0, 0, 0]
        assert profiles.Radial("sedov", {"sedov.centre": [0.5, 0, 0]}, mesh).centre.tolist() == [0.5, 0, 0]
        where, along = profiles.Radial("sedov", {}, mesh).along(np.array([[3.0, 4.0, 0]]), np.array([[3.0, 4.0, 7.0]]))
    assert (where, along) == (5.0, 5.0)


def test_oblique_direction_counts_wavelengths_per_box(shared_run):
    """Box of 1: direction (3, 4, 0) has wavelength 1/5 and normal (0.6, 0.8, 0)."""
    position, velocity = np.array([[0.5, 0.25, 0.1]]), np.array([[1.0, 1.0, 9.0]])
    with Run(shared_run).mesh() as mesh:
        config = {"sod.direction": [3, 4, 0]}
        open_box = profiles.Planar("sod", config, mesh)
        assert open_box.wavelength == pytest.approx(0.2) and open_box.normal == pytest.approx([0.6, 0.8, 0])
        where, along = open_box.along(position, velocity)
        assert where == pytest.approx(0.5) and along == pytest.approx(1.4)
        periodic = profiles.Planar("sod", {**config, "mesh.sides": ["periodic"] * 4 + ["outflow"] * 2}, mesh)
        assert abs(periodic.along(position, velocity)[0][0]) == pytest.approx(0.1)


def test_exact_solution_with_a_velocity_vector(tmp_path):
    """Linear waves tabulate vel1, vel2, vel3: compared is the component along the direction."""
    (tmp_path / "mesh").mkdir()
    (tmp_path / "config.toml").write_text("[linear_wave]\ndirection = [0, -1, 0]\n")

    def flow(x, y, z):
        return {"rho": 1 + 0 * x, "vel1": 9 + 0 * x, "vel2": y + 0 * x, "vel3": 0 * x, "press": 1 + 0 * x}

    synthetic.write_mesh(tmp_path / "mesh" / "linear_wave.00000.athdf", [(0, (0, 0, 0))], flow, n=4, root=(1, 1, 1))
    x = np.linspace(-0.5, 0.5, 9)
    columns = {"x": x, "rho": 1 + 0 * x, "vel1": 5 + 0 * x, "vel2": -x, "vel3": 0 * x, "press": 1 + 0 * x}
    synthetic.write_csv(tmp_path / "exact.csv", columns)
    run = Run(tmp_path)
    with run.mesh() as mesh:
        found = profiles.profile(run, mesh, run.exact)
    assert found.l1 == pytest.approx({"rho": 0, "vel": 0, "press": 0}, abs=1e-15)
    assert found.bins["coordinate"] == pytest.approx([-0.375, -0.125, 0.125, 0.375])
    assert found.bins["vel"] == pytest.approx(found.bins["coordinate"], abs=1e-15)
