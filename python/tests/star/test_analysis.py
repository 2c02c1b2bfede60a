"""The numbers of a report against numbers known by hand."""

import numpy as np
import pytest
import synthetic

from parallax.performance import pictures
from parallax.star import analysis
from parallax.star.athdf import Mesh
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


def test_drift_omits_what_floors_have_added():
    table = history(mass=[2, 3, 4], from_floors_mass=[5, 6, 7], floors_density=[1, 2, 3])
    assert analysis.drift(table, "mass").tolist() == [0, 0, 0]
    assert analysis.floor_additions(table) == {"mass": 1.0}
    assert analysis.floor_hits(table) == 3


def test_momentum_is_measured_against_what_mass_and_energy_can_carry():
    table = history(mass=[2, 2], energy=[4, 4], momentum_x=[0, 0.04])
    assert analysis.drift(table, "momentum_x")[-1] == 0.04 / 4


def test_drift_without_rows_or_with_zero_total():
    assert len(analysis.drift(history(mass=[]), "mass")) == 0
    assert analysis.drift(history(species_0=[0, 3]), "species_0").tolist() == [0, 3]


def test_species_with_names_are_conserved_totals():
    table = history(mass=[2, 2], energy=[1, 1], helium=[1, 1], gravity_energy=[0, 0], out_mass=[0, 0], out_energy=[0, 0],
                    out_helium=[0, 0])
    assert analysis.conserved_names(table) == ["mass", "energy", "helium"]
    names = ["mass_a", "energy_of_b", "momentum_x", "momentum_c", "total_angular_momentum_z"]
    table = history(mass=[2, 2], energy=[1, 1], **{part + name: [1, 1] for part in ("", "out_") for name in names})
    assert analysis.conserved_names(table) == ["mass", "momentum_x", "energy", "mass_a", "energy_of_b", "momentum_c"]


def test_the_energy_of_gravity_counts_without_regrids():
    table = history(
        step=[0, 1, 2, 3], energy=[8.0, 7.0, 6.0, 6.25], gravity_energy=[0, -3, -2.5, -2.25],
        gravity_energy_start=[0, -4, -3.5, -2.25],
    )
    assert analysis.drift(table, "energy").tolist() == [0, 0, 0, 0.25 / 12]


def test_the_energy_of_gravity_of_the_initial_state_may_be_unknown():
    nan = float("nan")
    alone = history(step=[0], energy=[8.0], gravity_energy=[nan], gravity_energy_start=[nan])
    assert analysis.drift(alone, "energy").tolist() == [0]
    rare = history(
        step=[0, 10, 20], energy=[8.0, 7.0, 6.5], gravity_energy=[nan, -3, -2], gravity_energy_start=[nan, -3, -2],
    )
    assert analysis.drift(rare, "energy").tolist() == [0, 0, 0.5 / 11]


def test_angular_momentum_counts_where_something_rotates():
    nan = float("nan")
    table = history(
        time=[0, 1, 2], energy=[2, 2, 2], angular_momentum_z=[nan, 0.5, 0.25], driving_angular_momentum=[0, 0, -0.125],
    )
    assert analysis.conserved_names(table) == ["energy", "angular_momentum_z"]
    assert analysis.drift(table, "angular_momentum_z").tolist() == [0, 0, -0.25]
    both = history(
        time=[0, 1], energy=[2, 2], angular_momentum_z=[nan, 0.5], total_angular_momentum_z=[0.5, 0.25],
        out_total_angular_momentum_z=[0, 0.125],
    )
    assert analysis.conserved_names(both) == ["energy", "total_angular_momentum_z", "angular_momentum_z"]
    assert analysis.drift(both, "total_angular_momentum_z").tolist() == [0, -0.25]
    at_rest = history(time=[0, 1], energy=[2, 2], angular_momentum_z=[nan, 1e-15])
    assert analysis.conserved_names(at_rest) == ["energy"]


def test_floor_hits_are_summed_over_kinds():
    assert analysis.floor_hits(history(step=[0, 1], floors_density=[0, 2], floors_pressure=[0, 3])) == 5
    assert analysis.floor_hits(history(step=[0, 1])) == 0


def test_time_shares():
    workers = history(worker=[0, 1], tasks_s=[6, 3], overhead_s=[0.5, 0], background_s=[0, 0.5], idle_s=[0, 0])
    assert pictures.time_shares(workers) == {"tasks": 0.9, "overhead": 0.05, "background": 0.05, "idle": 0.0}


def test_throughput_from_the_summary_or_else_from_the_history():
    assert analysis.throughput({"cell_updates": 600, "simulation_s": 3.0, "wall_s": 4.0}, None) == 200
    assert analysis.throughput({"cell_updates": 600, "wall_s": 4.0}, None) == 150
    table = history(cell_updates_per_s=[0, 100, 200], wall_s=[0, 1, 4])
    assert analysis.throughput(None, table) == 175  # (100 * 1 + 200 * 3) / 4
    assert analysis.throughput(None, None) is None


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
