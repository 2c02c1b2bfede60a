"""The numbers of a report against numbers known by hand."""

import numpy as np
import pytest
import synthetic
from parallax import Run, analysis
from parallax.athdf import Mesh
from parallax.tables import Table


def history(**columns):
    return Table({name: np.array(values, dtype=float) for name, values in columns.items()})


def test_drift_is_relative_to_the_start():
    table = history(mass=[2, 2, 2.5], energy=[4, 4, 3])
    assert analysis.drift(table, "mass").tolist() == [0, 0, 0.25]
    assert analysis.drift(table, "energy").tolist() == [0, 0, -0.25]
    assert analysis.conserved_names(table) == ["mass", "energy"]


def test_drift_adds_back_what_left():
    table = history(mass=[2, 1.5, 1], out_mass=[0, 0.5, 1])
    assert analysis.drift(table, "mass").tolist() == [0, 0, 0]
    assert analysis.boundary_losses(table) == {"mass": 0.5}
    assert analysis.boundary_losses(history(mass=[2, 2], out_mass=[0, 0])) == {}


def test_momentum_is_measured_against_what_mass_and_energy_can_carry():
    table = history(mass=[2, 2], energy=[4, 4], momentum_x=[0, 0.04])
    assert analysis.drift(table, "momentum_x")[-1] == 0.04 / 4


def test_drift_without_rows_or_with_zero_total():
    assert len(analysis.drift(history(mass=[]), "mass")) == 0
    assert analysis.drift(history(species_0=[0, 3]), "species_0").tolist() == [0, 3]


def test_floor_hits_are_summed_over_kinds():
    assert analysis.floor_hits(history(step=[0, 1], floors_density=[0, 2], floors_pressure=[0, 3])) == 5
    assert analysis.floor_hits(history(step=[0, 1])) == 0


def test_time_shares():
    workers = history(worker=[0, 1], tasks_s=[6, 3], overhead_s=[0.5, 0], background_s=[0, 0.5], idle_s=[0, 0])
    assert analysis.time_shares(workers) == {"tasks": 0.9, "overhead": 0.05, "background": 0.05, "idle": 0.0}


def test_throughput_from_the_summary_or_else_from_the_history():
    assert analysis.throughput({"cell_updates": 600, "simulation_s": 3.0, "wall_s": 4.0}, None) == 200
    assert analysis.throughput({"cell_updates": 600, "wall_s": 4.0}, None) == 150
    table = history(cell_updates_per_s=[0, 100, 200], wall_s=[0, 1, 4])
    assert analysis.throughput(None, table) == 175  # (100 * 1 + 200 * 3) / 4
    assert analysis.throughput(None, None) is None


def test_shock_position_is_the_steepest_fall():
    r = np.linspace(0, 1, 201)
    for width in (0.005, 0.01, 0.02):
        rho = 1 + 2.5 * (1 - np.tanh((r - 0.6123) / width))
        assert analysis.shock_position(r, rho) == pytest.approx(0.6123, abs=2e-4)
    assert analysis.shock_position(r, r) is None
    assert analysis.shock_position(r[:3], r[:3]) is None


def test_smearing_moves_the_shock_of_a_blast_little():
    r = np.linspace(0, 1, 4001)
    sharp = synthetic.density(r, 0.6)
    width = 0.01  # a cell
    kernel = np.exp(-0.5 * (np.arange(-200, 201) * (r[1] - r[0]) / width) ** 2)
    smeared = np.convolve(np.pad(sharp, 200, mode="edge"), kernel / kernel.sum(), "valid")
    centres = (np.arange(100) + 0.5) * width
    cells = np.interp(centres, r, smeared)
    assert analysis.shock_position(centres, cells) == pytest.approx(0.6, rel=5e-3)


def test_jump_of_the_exact_solution():
    assert analysis.jump_position(np.array([0, 0.4, 0.4, 1]), np.array([1, 6, 1, 1])) == 0.4
    assert analysis.jump_position(np.array([0, 1]), np.array([1, 1])) is None


def test_profile_of_the_blast(shared_run):
    run = Run(shared_run)
    with run.mesh(-1) as mesh:
        found = analysis.profile(run, mesh, run.exact)
        cell = mesh.cell_width.min()
        volume = mesh.points(["rho"])[1].sum()
    assert found.coordinate == "r" and volume == pytest.approx(1.0, abs=1e-12)
    assert found.shock_exact == pytest.approx(0.42, abs=1e-12)
    assert abs(found.shock - 0.42) < 0.5 * cell
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
        found = analysis.profile(run, mesh, run.exact)
    assert found.l1 == {"rho": 0.0625, "press": 0.0}
    assert found.shock_exact is None


def test_profile_along_x(tmp_path):
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
    synthetic.write_csv(tmp_path / "exact.csv", {"x": [0, 2, 2, 4], "rho": [1, 1, 0.125, 0.125], "vel": [0, 2, 2, 4]})
    run = Run(tmp_path)
    with run.mesh() as mesh:
        found = analysis.profile(run, mesh, run.exact)
    assert found.coordinate == "x" and found.shock is None
    assert found.l1 == {"rho": 0.0, "vel": 0.0}
    assert found.bins["coordinate"].tolist() == [(i + 0.5) / 4 for i in range(16)]


def test_every_level_is_seen_among_the_cells(tmp_path):
    path = tmp_path / "b.athdf"
    leaves = synthetic.octree(0.42, 3)
    synthetic.write_mesh(path, leaves, synthetic.blast(0.42), n=8)
    (tmp_path / "mesh").mkdir()
    path.rename(tmp_path / "mesh" / "sedov.00000.athdf")
    run = Run(tmp_path)
    with run.mesh() as mesh:
        found = analysis.profile(run, mesh, None, limit=3000)
        assert set(found.cells["level"]) == set(mesh.levels)
    assert 2000 < len(found.cells["rho"]) < 9000
    assert found.l1 == {} and found.shock == pytest.approx(0.42, rel=0.02)


def test_centre_comes_from_the_configuration(shared_run, own_run):
    with Run(shared_run).mesh() as mesh:
        assert analysis.centre_of(Run(shared_run), mesh).tolist() == [0, 0, 0]
        (own_run / "config.toml").write_text("[sedov]\ncenter = [0.5, 0, 0]\n")
        assert analysis.centre_of(Run(own_run), mesh).tolist() == [0.5, 0, 0]


def cost_file(tmp_path, **per_block):
    path = tmp_path / "c.athdf"
    synthetic.write_mesh(
        path,
        [(0, (i, 0, 0)) for i in range(2)],
        lambda x, y, z: {"rho": x},
        n=4,
        cycle=30,
        root=(2, 1, 1),
        per_block=per_block,
    )
    return Mesh(path)


def test_cost_per_update_uses_the_steps_between_files(tmp_path):
    with cost_file(tmp_path, Cost=np.array([0.64, 1.28])) as mesh:
        assert analysis.cost_per_update(mesh, 20) == pytest.approx([1e-3, 2e-3])  # 64 cells, 10 steps
        assert analysis.cost_per_update(mesh, None) == pytest.approx([1e-3 / 3, 2e-3 / 3])


def test_cost_per_update_prefers_the_counted_updates(tmp_path):
    with cost_file(tmp_path, Cost=np.array([0.64, 1.28]), Updates=np.array([5, 0])) as mesh:
        found = analysis.cost_per_update(mesh, 20)
    assert found[0] == pytest.approx(2e-3) and np.isnan(found[1])


def test_no_cost(tmp_path):
    with cost_file(tmp_path) as mesh:
        assert analysis.cost_per_update(mesh, 0) is None
    with cost_file(tmp_path, Cost=np.zeros(2)) as mesh:
        assert analysis.cost_per_update(mesh, 0) is None
