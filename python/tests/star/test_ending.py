"""Which mesh files a report believes: those of the run that run.json describes."""

import json
import shutil

import pytest
import synthetic

from parallax import Run
from parallax.cli import main
from parallax.star.ending import ending
from parallax.star.facts import Facts


def write(folder, number, time, step):
    path = folder / f"sedov.{number:05d}.athdf"
    synthetic.write_mesh(path, [(0, (0, 0, 0))], synthetic.blast(0.4), n=4, time=time, cycle=step, root=(1, 1, 1))
    return path


def test_files_left_from_before_a_resume(tmp_path):
    """Resumed with fewer mesh files: those with higher numbers are of earlier times."""
    files = [write(tmp_path, i, *moment) for i, moment in enumerate([(0.0, 0), (0.5, 30), (1.0, 60), (0.7, 43), (0.8, 49)])]
    found = ending(files, {"status": "finished", "time": 1.0, "steps": 60})
    assert found.files == files[:3] and [path for path, _ in found.foreign] == files[3:]
    assert "t = 0.700000, step 43, earlier than sedov.00002.athdf (step 60)" in found.foreign[0][1]
    # The same while it runs, when the end is not known.
    assert ending(files, {"status": "running", "time": 0.0, "steps": 0}).files == files[:3]
    assert ending(files, None).files == files[:3]


def test_files_later_than_the_end(tmp_path):
    files = [write(tmp_path, i, *moment) for i, moment in enumerate([(0.0, 0), (0.5, 30), (1.0, 60)])]
    found = ending(files, {"status": "finished", "time": 0.5, "steps": 30})
    assert found.files == files[:2] and "later than the end of the run (t = 0.500000, step 30)" in found.foreign[0][1]
    assert ending(files, {"status": "running", "time": 0.0, "steps": 0}).files == files
    assert ending(files, {"status": "was interrupted", "time": 0.0, "steps": 0}).files == files


def test_two_files_of_one_moment_and_one_that_is_broken(tmp_path):
    files = [write(tmp_path, i, *moment) for i, moment in enumerate([(0.0, 0), (0.5, 30), (0.5, 30)])]
    files[1].write_bytes(files[1].read_bytes()[:900])
    assert ending(files, {"status": "finished", "time": 0.5, "steps": 30}).files == files


@pytest.fixture
def resumed(own_run):
    """A complete run beside which a mesh file lies that is older than its end."""
    stale = own_run / "mesh" / "sedov.00003.athdf"
    shutil.copy(own_run / "mesh" / "sedov.00001.athdf", stale)
    return own_run, stale


def test_a_report_names_a_stale_file_and_does_not_use_it(shared_run, resumed, quick, capsys):
    run, stale = resumed
    clean, found = Facts(Run(shared_run)), Facts(Run(run))
    assert found.last.path.name == "sedov.00002.athdf"
    assert found.lines.l1 == clean.lines.l1 and found.lines.shock == clean.lines.shock
    clean.close(), found.close()
    assert main(["report", str(run)]) == 0
    err = capsys.readouterr().err
    assert str(stale) in err and "earlier than sedov.00002.athdf" in err and err.count("\n") == 1


def test_a_mesh_of_another_time_than_the_end_is_not_compared(own_run, quick, capsys):
    """The mesh of the end is broken: the errors of an earlier one are not those of the end."""
    last = own_run / "mesh" / "sedov.00002.athdf"
    last.write_bytes(last.read_bytes()[:5000])
    assert main(["report", str(own_run)]) == 2
    out, err = capsys.readouterr()
    assert "L1(rho)" not in out and "exact 0." not in out
    assert "the last mesh file is of t = 0.066667, not of the end of the run" in out
    assert "not compared with the exact solution" in err and "sedov.00001.athdf" in err


def test_a_run_that_ended_without_a_mesh_of_its_end(own_run, quick, capsys):
    summary = json.loads((own_run / "run.json").read_text())
    (own_run / "run.json").write_text(json.dumps({**summary, "time": 0.2, "steps": 400}))
    assert main(["report", str(own_run)]) == 0
    out, err = capsys.readouterr()
    assert "L1(rho)" not in out and "the run ended at t = 0.200000" in err
