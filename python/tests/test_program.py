"""Runs of plx-star itself, read by the report and the comparison: both sides mean the same by every file."""

import os
import subprocess
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from parallax import Run
from parallax.cli import main
from parallax.performance import pictures
from parallax.performance.diagnosis import Evidence
from parallax.performance.diagnosis.evidence import all_threads
from parallax.star import analysis
from parallax.star import parts as part_module

root = Path(__file__).parents[2]
program = Path(os.environ.get("PLX_BIN", root / "build" / "release" / "bin")) / "plx-star"
pytestmark = pytest.mark.skipif(not program.exists(), reason=f"{program} is not built")


def run_program(folder, *options):
    sets = [word for option in ("mesh.max_level=1", "run.max_steps=8", *options) for word in ("--set", option)]
    command = [program, root / "inputs" / "sedov.toml", "--out", folder, "--threads", "2", *sets]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def blast(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("program") / "a")


def test_every_file_is_understood(blast):
    run = Run(blast)
    assert run.problem == "sedov" and run.config["mesh.max_level"] == 1
    assert run.summary["status"] == "finished" and run.summary["steps"] == 8
    assert run.history["step"][-1] == 8 and "star.stage" in run.profile["name"]
    assert analysis.conserved_names(run.history)[:2] == ["mass", "momentum_x"]
    assert max(abs(analysis.drift(run.history, "mass"))) < 1e-13
    assert sum(pictures.time_shares(run.workers).values()) == pytest.approx(1)
    assert {"r", "rho", "vel", "press"} <= set(run.exact.names())
    assert run.counters is None or len(run.counters) > 0
    with run.mesh(0) as first, run.mesh(-1) as last:
        assert (first.cycle, last.cycle) == (0, 8) and last.time == run.history["time"][-1]
        assert {"rho", "vel1", "vel2", "vel3", "press"} <= set(last.variables)
        assert last.block_values("Updates").max() == 8
        assert (analysis.cost_per_update(last, 0) > 0).all()


def test_blame_adds_up_to_the_idle_time(blast):
    evidence = Evidence(blast)
    unattributed_s = evidence.last(all_threads + "idle/unattributed")
    charged_s = sum(evidence.idle_blame.values()) + unattributed_s
    # The two times of each of the two workers are read within a millisecond.
    assert charged_s == pytest.approx(evidence.idle_s, rel=0.01, abs=2e-3)


def test_report_has_no_notes(blast, monkeypatch, capsys):
    def fill(picture, paper):
        with matplotlib.rc_context(paper.rc()):
            picture.draw(Figure(figsize=picture.size), paper)
        return b"\x89PNG" + bytes(20)

    monkeypatch.setattr(part_module, "render", fill)
    assert main(["report", str(blast)]) == 0
    captured = capsys.readouterr()
    assert captured.err == "" and len(captured.out.splitlines()) == 10
    page = (blast / "report.html").read_text()
    assert page.count("card note") == 1 and "needs at least 3 mesh files" in page


def test_comparison_distinguishes_equal_from_different_physics(blast, tmp_path, capsys):
    same = run_program(tmp_path / "same", "output.history_interval=2")
    other = run_program(tmp_path / "other", "hydro.flux=hll")
    assert main(["compare", str(blast), str(same), "--require-equal"]) == 0
    assert "output.history_interval" in capsys.readouterr().out
    assert main(["compare", str(blast), str(other), "--require-equal"]) == 1
    assert "hydro.flux" in capsys.readouterr().out
