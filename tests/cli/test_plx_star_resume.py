"""The folder of a plx-star run that is killed, stopped, started twice, or resumed.

PLX_BIN names the folder of the program (./plx test sets it).
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from children import catches, end_of, kill, wait_for
from children import start as start_child
from launched import command, environment
from test_plx_star import PROGRAM, check_refused, files, folder, has_rows, last_mesh, rows, run, same  # noqa: F401

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not built")

ENDLESS = ["--set", "run.max_steps=1000000", "--set", "run.t_end=10"]


def start(*arguments, **more):
    return start_child([PROGRAM, *arguments], **more)


def names(out, inside="mesh"):
    return sorted(p.name for p in (Path(out) / inside).glob("*.*"))


def status_of(out):
    return json.loads((Path(out) / "run.json").read_text())["status"]


TABLES = ("diagnostics.csv", "analysis_energies.csv", "light_curve.csv")


def tables(out):
    """Those of a run of merger_demo: history.csv without wall time, and the others as they are."""
    return [rows(out), *((Path(out) / name).read_text() for name in TABLES)]


def test_last_mesh_file_of_a_run_killed_behind_its_checkpoint(folder):
    assert run("in.toml", "--out", "out", "--quiet").returncode == 0
    whole, all_names = last_mesh("out"), names("out")
    assert run("--resume", "out", "--out", "other", "--quiet").returncode == 0
    assert same(last_mesh("other"), whole)
    for p in Path("out/mesh").glob("sedov.00001.*"):  # the state after a kill at this point
        p.unlink()
    state = Path("out/run.json")
    state.write_text(state.read_text().replace('"finished"', '"running"'))
    assert run("--resume", "out", "--quiet").returncode == 0
    assert names("out") == all_names
    assert same(last_mesh("out"), whole)


def test_a_finished_run_is_not_replaced_by_its_resume(folder):
    """A resume at the end would make no step, and leave its own measurement of that."""
    assert run("in.toml", "--out", "out", "--quiet", "--plx:diagnose").returncode == 0
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in Path("out").rglob("*") if p.is_file()}
    for more in ((), ("--plx:diagnose", "--trace")):
        done = run("--resume", "out", *more)
        assert done.returncode == 0 and not done.stderr, done
        assert done.stdout.startswith("the run in out is finished, and nothing was written; "), done
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in Path("out").rglob("*") if p.is_file()} == before
    steps = json.loads(Path("out/run.json").read_text())["steps"]
    assert run("--resume", "out", "--quiet", "--set", f"run.max_steps={steps + 1}", "--set", "run.t_end=10").returncode == 0
    assert json.loads(Path("out/run.json").read_text())["steps"] == steps + 1


def test_a_resumed_run_has_the_ledger_of_the_whole(folder):
    few = ["--quiet", "--set", "gravity.self=true"]
    assert run("in.toml", "--out", "whole", *few).returncode == 0
    assert run("in.toml", "--out", "out", *few, "--set", "run.max_steps=3").returncode == 0
    assert run("--resume", "out", "--quiet", "--set", "run.max_steps=6").returncode == 0
    whole, resumed = (json.loads(Path(out, "run.json").read_text()) for out in ("whole", "out"))
    assert resumed["conservation_since_step"] == 0 and resumed["conservation"] == whole["conservation"]
    changes = [(c["key"], c["was"], c["value"], c["by"]) for c in resumed["changed_options"]]
    assert changes == [
        ("run.max_steps", "6", "3", "--set"), ("gravity.self", "false", "true", "--set"),
        ("run.max_steps", "3", "6", "--resume"),
    ]


def test_a_stop_between_two_rows_leaves_no_row(folder):
    """The last row of a run that has ended is not one of the run that continues, and changes none of its numbers."""
    source = Path(__file__).parents[2] / "inputs" / "stars" / "merger_demo.toml"
    sets = ["mesh.root_blocks=[2,2,1]", "diagnostics.interval=4", "output.analysis_interval=3", "output.history_interval=3", "light_curve.interval=2"]
    sets = [word for s in sets for word in ("--set", s)]
    assert run(source, "--out", "whole", "--quiet", *sets, "--set", "run.max_steps=8").returncode == 0
    assert run(source, "--out", "out", "--quiet", *sets, "--set", "run.max_steps=5").returncode == 0
    ended = tables("out")
    assert [row[0] for row in ended[0]] == ["step", "0", "3", "5"]
    assert run("--resume", "out", "--quiet").returncode == 0  # no step: the same last rows
    assert tables("out") == ended
    assert run("--resume", "out", "--quiet", "--set", "run.max_steps=8").returncode == 0
    assert tables("out") == tables("whole")
    light, header = (Path("out", name).read_text().splitlines() for name in ("light_curve_columns.csv", "light_curve.csv"))
    assert light[:2] == ["name,unit,factor,meaning", "luminosity,erg s^-1,1,mean of those towards all directions"]
    assert [line.split(",")[0] for line in light[1:]] == header[0].split(",")[2:]


def test_a_run_that_has_ended_keeps_its_last_mesh_file(folder):
    assert run("in.toml", "--out", "out", "--quiet").returncode == 0
    before = Path("out/mesh/sedov.00001.athdf").read_bytes()
    assert run("--resume", "out", "--quiet").returncode == 0
    assert Path("out/mesh/sedov.00001.athdf").read_bytes() == before


def test_mesh_files_behind_the_checkpoint_go(folder):
    often = ["--set", "output.mesh_interval=1e-6", "--set", "output.checkpoint_interval_s=1e-9"]
    assert run("in.toml", "--out", "out", "--quiet", *often, "--set", "output.checkpoints_kept=9").returncode == 0
    assert len(names("out")) == 14
    for step in (3, 4, 5, 6):  # as after a kill behind step 2
        for p in Path("out/checkpoint").glob(f"*{step}.h5"):
            p.unlink()
    assert run("--resume", "out", "--quiet", "--set", "output.mesh_interval=0").returncode == 0
    assert last_mesh("out")["time"] == json.loads(Path("out/run.json").read_text())["time"]
    assert run("in.toml", "--out", "whole", "--quiet").returncode == 0
    assert same(last_mesh("out"), last_mesh("whole"))
    assert len(names("out")) == 8  # steps 0, 1, 2 and the end


def test_a_folder_in_use_is_left_alone(folder):
    child = start("in.toml", "--out", "out", "--set", "output.checkpoint_interval_s=1e-3", *ENDLESS)
    wait_for(child, lambda: list(Path("out/checkpoint").glob("*.h5")) and has_rows("out", 5)())
    check_refused(run("--resume", "out"), "'out'", f"in use by process {child.pid} on ", "--out")
    check_refused(run("in.toml", "--out", "out"), "'out'", f"in use by process {child.pid} on ", "--out")
    # Its checkpoints may go while another process reads them.
    later = Path("out/checkpoint/sedov.99999999.h5")
    later.write_text("of a later step, not complete")
    check_refused(run("--resume", "out"), "'out'", f"in use by process {child.pid} on ", "--out")
    check_refused(run("--resume", "out/checkpoint/sedov.00000000.h5"), "'out'", f"in use by process {child.pid} on ", "--out")
    later.unlink(missing_ok=True)
    child.send_signal(signal.SIGTERM)
    output, errors = end_of(child)
    assert child.returncode == 130, (output, errors)
    assert not Path("out/.lock").exists()
    steps = json.loads(Path("out/run.json").read_text())["steps"]
    assert run("--resume", "out", "--quiet", "--set", f"run.max_steps={steps + 2}").returncode == 0
    check_refused(run("in.toml", "--out", "out"), "'out'", "--resume out")
    shutil.rmtree("out/checkpoint")
    check_refused(run("in.toml", "--out", "out"), "'out'", "or remove it", "before its first checkpoint")


def test_two_runs_started_together_in_one_folder(folder):
    both = [start("in.toml", "--out", "out", "--quiet", "--set", "run.max_steps=60") for _ in range(2)]
    ends = sorted((child.communicate(timeout=600)[1], child.returncode) for child in both)
    assert sorted(code for _, code in ends) == [0, 2], ends
    assert "in use by process" in ends[1][0] or "not empty" in ends[1][0], ends
    steps = [line.split(",")[0] for line in Path("out/history.csv").read_text().splitlines()]
    assert len(steps) == len(set(steps))
    assert status_of("out") == "finished"


def test_a_run_that_was_killed_leaves_no_lock(folder):
    child = start("in.toml", "--out", "out", "--quiet", "--set", "output.checkpoint_interval_s=1e-3", *ENDLESS)
    wait_for(child, lambda: list(Path("out/checkpoint").glob("*.h5")))
    child.kill()
    end_of(child)
    assert Path("out/.lock").exists()
    newest = max(int(name.split(".")[1]) for name in names("out", "checkpoint") if name.endswith(".h5"))
    done = run("--resume", "out", "--quiet", "--set", f"run.max_steps={newest + 2}", "--set", "run.t_end=10")
    assert done.returncode == 0 and status_of("out") == "finished", done
    assert not Path("out/.lock").exists()


def test_output_that_is_no_longer_read(folder):
    ours, theirs = os.pipe()
    child = start("in.toml", "--out", "out", stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.close(ours)
    assert child.wait(timeout=600) == 0
    assert status_of("out") == "finished"


def test_a_terminal_that_is_closed(folder):
    # nohup ./plx test hands an ignored SIGHUP on.
    hangs_up = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)}
    child = start("in.toml", "--out", "out", *ENDLESS, **hangs_up)
    wait_for(child, has_rows("out", 3))
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGHUP)
    output, errors = end_of(child)
    assert child.returncode == 130, (output, errors)
    assert len(names("out", "checkpoint")) == 1


def test_a_second_signal_of_another_kind_ends_at_once(folder):
    full, pipe = os.pipe()
    os.set_blocking(pipe, False)
    for size in (1 << 16, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(pipe, bytes(size))
    os.set_blocking(pipe, True)
    # Neither the handler of the first signal nor the run can end before the second one arrives: both print.
    child = start("in.toml", "--out", "out", "--set", "mesh.max_level=7", *ENDLESS, stdout=pipe, stderr=pipe)
    wait_for(child, lambda: catches(child, signal.SIGINT))
    child.send_signal(signal.SIGINT)
    wait_for(child, lambda: not catches(child, signal.SIGTERM))
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=600) == -signal.SIGTERM
    os.close(pipe)
    os.close(full)


def test_two_signals_at_the_same_time_end_at_once(folder):
    child = start("in.toml", "--out", "out", "--set", "mesh.max_level=7", *ENDLESS)
    wait_for(child, lambda: catches(child, signal.SIGINT))
    for which in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):  # both are pending when it continues
        child.send_signal(which)
    end_of(child)
    assert child.returncode in (-signal.SIGINT, -signal.SIGTERM)


def test_closed_streams_are_no_files_of_the_run(folder):
    def close():
        for stream in (0, 1, 2):
            os.close(stream)

    child = start("in.toml", "--out", "out", *ENDLESS, stdout=None, stderr=None, preexec_fn=close)
    wait_for(child, has_rows("out", 3))
    open_files = [os.readlink(f"/proc/{child.pid}/fd/{stream}") for stream in (0, 1, 2)]
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=600) == 130
    assert open_files == ["/dev/null"] * 3


def test_threads_that_cannot_be_made(folder):
    def limit():  # threads get stacks of this size: enough memory for two of them and for everything else
        resource.setrlimit(resource.RLIMIT_STACK, (4 << 30, resource.getrlimit(resource.RLIMIT_STACK)[1]))
        resource.setrlimit(resource.RLIMIT_AS, (11 << 30, 11 << 30))

    if subprocess.run([str(PROGRAM), "--version"], preexec_fn=limit, capture_output=True).returncode != 0:
        pytest.skip("the program does not start with little address space")
    words = [str(PROGRAM), "in.toml", "--out", "out", "--quiet", "--threads", "8"]
    done = subprocess.run(words, preexec_fn=limit, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1, done
    assert len(done.stderr.strip().splitlines()) == 1 and "cannot start another thread" in done.stderr, done
    assert not Path("out/run.json").exists()


def test_memory_that_runs_out_in_a_run(folder):
    more = ["--set", "mesh.max_level=3", "--set", "output.checkpoint_interval_s=0.1", "--set", "run.max_steps=100000"]
    child = start("in.toml", "--out", "out", "--quiet", "--threads", "2", "--set", "run.t_end=10", *more)
    wait_for(child, lambda: list(Path("out/checkpoint").glob("*.h5")))
    used_kb = next(line.split()[1] for line in Path(f"/proc/{child.pid}/status").open() if line.startswith("VmData:"))
    limit = (int(used_kb) << 10) + (8 << 20)  # not RLIMIT_AS, which also keeps the main thread's stack from growing
    resource.prlimit(child.pid, resource.RLIMIT_DATA, (limit, limit))
    _, errors = end_of(child)
    assert child.returncode == 1
    assert len(errors.strip().splitlines()) == 1 and "plx-star: out of memory: " in errors, errors
    about = json.loads(Path("out/run.json").read_text())
    assert about["status"] == "failed" and "out of memory" in about["message"]
    steps = int(max(names("out", "checkpoint")).split(".")[1]) + 2
    assert run("--resume", "out", "--quiet", "--set", f"run.max_steps={steps}").returncode == 0
    assert status_of("out") == "finished"


def test_checkpoint_that_is_a_pipe(folder):
    assert run("in.toml", "--out", "out", "--quiet").returncode == 0
    checkpoint = next(Path("out/checkpoint").glob("*.h5"))
    checkpoint.unlink()
    os.mkfifo(checkpoint)
    done = run("--resume", "out")
    assert done.returncode == 2, done
    shutil.rmtree("out")


def is_open_mpi():
    found = shutil.which("mpirun")
    return found and "Open MPI" in subprocess.run([found, "--version"], capture_output=True, text=True).stdout


GPU = os.environ.get("PLX_STAR_TEST_DEVICE")
on_four = pytest.param(4, GPU or "cpu", marks=[pytest.mark.slow, pytest.mark.skipif(not is_open_mpi(), reason="no Open MPI")])


# Two stars with self-gravity, driving and diagnostics, whose states are beyond the gas: their files are the same as well. The run
# that is not killed is one of workers. PLX_STAR_TEST_DEVICE=cuda tests cards.
@pytest.mark.parametrize("processes, device", [(1, "cpu"), (1, GPU or "emulated"), on_four])
def test_a_merger_that_is_killed_twice_ends_in_the_same_bits(folder, processes, device):
    sets = ["run.max_steps=24", "run.t_end=100", "mesh.root_blocks=[2,2,1]", "driving.period=0.2", "driving.periods=0.5"]
    sets += ["diagnostics.interval=2", "light_curve.interval=3", "refinement.interval=4", "output.checkpoint_interval_s=1e-9"]
    sets = [word for s in sets for word in ("--set", s)]
    source = Path(__file__).parents[2] / "inputs" / "stars" / "merger_demo.toml"
    assert run(source, "--out", "whole", "--quiet", "--threads", "2", *sets).returncode == 0
    arguments = [source, "--out", "cut", *sets, "--set", f"run.device={device}"]
    seed = int(os.environ.get("PLX_TEST_SEED") or random.randrange(1 << 32))
    kills = sorted(random.Random(seed).sample(range(3, 20), 2))  # rows: the third one follows the first checkpoint
    print(f"killed at steps {kills}; again with PLX_TEST_SEED={seed}")
    for steps in kills:
        words = command(0 if processes == 1 else processes, PROGRAM, *arguments, "--quiet", "--threads", "1")
        child = start_child(words, env=environment())
        wait_for(child, has_rows("cut", steps))
        kill(child)
        Path("cut/run.json.1-1.part").touch()  # what a process leaves that was killed while it wrote
        arguments = ["--resume", "cut"]
    done = run(*arguments, "--quiet", "--threads", "2")
    assert done.returncode == 0, done
    for name in TABLES:
        assert (Path("cut") / name).read_bytes() == (Path("whole") / name).read_bytes()
    assert same(last_mesh("cut"), last_mesh("whole"))
    tracers = sorted(path.name for path in Path("whole/series").glob("tracers.*.csv"))
    assert len(tracers) > 1
    for name in tracers:
        assert (Path("cut/series") / name).read_bytes() == (Path("whole/series") / name).read_bytes()
    assert not list(Path("cut").glob("*.part"))


def test_resume_from_an_older_checkpoint(folder):
    often = ["--set", "output.checkpoint_interval_s=1e-9", "--set", "output.checkpoints_kept=9"]
    assert run("in.toml", "--out", "out", "--quiet", *often).returncode == 0
    older = Path("out/checkpoint/sedov.00000003.h5")
    assert older.exists()
    assert run("--resume", older, "--out", "other", "--quiet").returncode == 0
    assert same(last_mesh("out"), last_mesh("other"))
    whole, whole_rows = last_mesh("out"), rows("out")
    assert run("--resume", older, "--quiet", "--set", "run.max_steps=4").returncode == 0
    assert [p.name for p in sorted(Path("out/checkpoint").glob("*.h5"))][-1] == "sedov.00000004.h5"
    assert len(rows("out")) == 6
    assert run("--resume", "out", "--quiet", "--set", "run.max_steps=6").returncode == 0
    assert same(last_mesh("out"), whole) and rows("out") == whole_rows
    shutil.copy(older, "elsewhere.h5")
    check_refused(run("--resume", "elsewhere.h5"), "elsewhere.h5", "RUN/checkpoint")


def test_a_run_with_rk2_and_ppm_continues_with_rk3(folder):
    rk2 = ["--set", "hydro.integrator=rk2", "--set", "hydro.cfl=0.4"]
    plm = ["--set", "hydro.reconstruction=plm"]
    assert run("in.toml", "--out", "out", "--quiet", "--set", "run.max_steps=3", *rk2, *plm).returncode == 0
    # As the folder of an older run, which had the pair.
    ppm = ["--set", "hydro.reconstruction=ppm", "--allow-change", "hydro.reconstruction", "--set", "run.max_steps=6"]
    check_refused(run("--resume", "out", *ppm), "--set hydro.integrator=rk3 --allow-change hydro.integrator")
    done = run("--resume", "out", "--quiet", *ppm, "--set", "hydro.integrator=rk3", "--allow-change", "hydro.integrator")
    assert done.returncode == 0 and len(rows("out")) == 8, done  # a header, steps 0 to 6


def test_physics_that_is_allowed_to_change(folder):
    assert run("in.toml", "--out", "out", "--quiet", "--set", "run.max_steps=3").returncode == 0
    sets = ["--set", "run.max_steps=6", "--set", "hydro.cfl=0.2", "--set", "mesh.max_level=2"]
    before = files("out")
    check_refused(run("--resume", "out", *sets, "--allow-change", "hydro.cfl"), "mesh.max_level", "--allow-change")
    check_refused(run("--resume", "out", *sets, "--allow-change", "hydro.clf"), "hydro.clf")
    check_refused(run("--resume", "out", "--allow-change", "mesh.lower"), "mesh.lower", "cannot change")
    assert files("out") == before
    done = run("--resume", "out", "--out", "other", "--quiet", *sets, "--allow-change", "hydro.cfl,mesh.max_level")
    assert done.returncode == 0, done
    assert last_mesh("other")["levels"].max() == 2
    less = ["--set", "mesh.max_level=0", "--allow-change", "mesh.max_level", "--set", "run.max_steps=6"]
    check_refused(run("--resume", "out", "--out", "coarse", *less), "mesh.max_level", "blocks of level 1")
    assert not Path("coarse").exists()


def test_broken_configuration_of_a_run(folder):
    assert run("in.toml", "--out", "out", "--quiet", "--set", "run.max_steps=3").returncode == 0
    Path("out/config.toml").write_text("")
    check_refused(run("--resume", "out"), "out/config.toml", "from the checkpoint")
    Path("out/config.toml").unlink()
    assert run("--resume", "out", "--quiet").returncode == 0


def replaced(line: int, new: str):
    """Changes a table: line number `line`."""
    return lambda text: "".join(new if i == line else old for i, old in enumerate(text.splitlines(keepends=True), 1))


DAMAGES = {
    "garbage": (replaced(3, "garbage\n"), "line 3: expected a row of"),
    "another number of columns": (lambda text: text.replace("\n2,", "\n2,0,"), "line 4: expected a row of"),
    "a word": (lambda text: text.replace("\n2,", "\n2,a", 1), "line 4: expected a number in the column 'time'"),
    "rows twice": (lambda text: text + text[text.index("\n2,") + 1 :], "expected a step above 4, found '2'"),
    "cut in mid row": (lambda text: text[:-9], "expected rows up to step 4, as when the checkpoint was written, found the last at step 3"),
    "without rows": (lambda text: text[: text.index("\n") + 1], "expected rows up to step 4, as when the checkpoint was written, found none"),
    "other columns": (lambda text: text.replace("time", "tune"), "line 1: expected the columns 'step,time,"),
    "empty": (lambda text: "", "line 1: expected a line with the names of the columns"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_table_is_refused_and_nothing_changes(folder, damage):
    sets = ["--set", "run.max_steps=4", "--set", 'output.analysis=["energies"]', "--set", "output.analysis_interval=1"]
    assert run("in.toml", "--out", "out", "--quiet", *sets).returncode == 0
    change, words = DAMAGES[damage]
    for table in (Path("out/history.csv"), Path("out/analysis_energies.csv")):
        text = table.read_text()
        table.write_text(change(text))
        before = files("out")
        more = ["--set", "run.max_steps=6"]
        check_refused(run("--resume", "out", *more), f"'{table}'", words, "restore the file, or move it away")
        assert files("out") == before
        table.write_text(text)
    table.unlink()  # moved away
    assert run("--resume", "out", "--quiet", *more).returncode == 0
    assert [line.split(",")[0] for line in table.read_text().splitlines()] == ["step", "5", "6"]


def test_an_unfinished_last_row_is_written_again_and_a_short_one_is_refused(folder):
    assert run("in.toml", "--out", "whole", "--quiet").returncode == 0
    for tail in ("5,0.1", "5", "7,1,2,3\ngarbage\n", "99999999999,\0"):
        shutil.rmtree("out", ignore_errors=True)
        assert run("in.toml", "--out", "out", "--quiet", "--set", "run.max_steps=4").returncode == 0
        with open("out/history.csv", "a") as table:
            table.write(tail)
        done = run("--resume", "out", "--quiet", "--set", "run.max_steps=6")
        assert done.returncode == (2 if tail.startswith("7,") else 0), done
        if done.returncode == 0:
            assert rows("out") == rows("whole")


def test_a_table_that_was_moved_away_begins_again(folder):
    """Also if a checkpoint comes before its next row."""
    often = ["--set", "output.checkpoint_interval_s=1e-9", "--set", "output.checkpoints_kept=9", "--set", "output.history_interval=3"]
    assert run("in.toml", "--out", "out", "--quiet", *often, "--set", "run.max_steps=3").returncode == 0
    Path("out/history.csv").rename("history.csv")
    assert run("--resume", "out", "--quiet", "--set", "run.max_steps=6").returncode == 0
    assert run("--resume", "out/checkpoint/sedov.00000004.h5", "--quiet").returncode == 0
    assert [line.split(",")[0] for line in Path("out/history.csv").read_text().splitlines()] == ["step", "6"]


def test_an_end_that_is_over(folder):
    assert run("in.toml", "--out", "out", "--quiet").returncode == 0
    check_refused(run("--resume", "out", "--set", "run.t_end=1e-6"), "run.t_end", "already")
    check_refused(run("--resume", "out", "--set", "run.max_steps=5"), "run.max_steps", "already")


def test_checkpoints_before_mass_has_changed_are_kept(folder):
    sets = ["hydro.density_floor=1.0", "output.checkpoint_interval_s=1e-9", "run.max_steps=0", "run.t_end=0.1", "run.conservation_limit=0"]  # floors fill it
    assert run("in.toml", "--out", "out", "--quiet", *[x for s in sets for x in ("--set", s)]).returncode == 0
    history = [line.split(",") for line in Path("out/history.csv").read_text().splitlines()]
    columns = [history[0].index(name) for name in ("mass", "out_mass")]
    masses = {int(row[0]): sum(float(row[c]) for c in columns) for row in history[1:]}
    last = max(masses)
    assert abs(masses[last] - masses[0]) > 0.1 * masses[0]
    kept = [int(p.name.split(".")[1]) for p in Path("out/checkpoint").glob("*.h5")]
    assert last in kept and last - 1 in kept and len(kept) == 4
    assert all(abs(masses[step] - masses[0]) <= 0.1 * masses[0] for step in sorted(kept)[:2])
    assert "exceed a tenth of the mass or energy" in Path("out/log.txt").read_text()


@pytest.mark.skipif(not is_open_mpi(), reason="Open MPI is not installed")
def test_many_processes_that_are_refused_leave_nothing(folder):
    def on_two(*arguments):
        words = command(2, PROGRAM, *arguments)
        return subprocess.run(words, capture_output=True, text=True, timeout=600, env=environment())

    done = on_two("in.toml", "--out", "out")
    if done.returncode != 0 and "100 %" not in done.stdout:
        pytest.skip(f"no run on two processes here: {done.stderr[-300:]}")
    assert done.returncode == 0 and "\r" not in done.stdout and "\033" not in done.stdout, done
    assert Path("out/job.json").exists()
    for refused in ("run.max_steps=5", "hydro.cfl=0.3"):
        done = on_two("--resume", "out", "--out", "new", "--set", refused)
        assert done.returncode != 0 and refused.split("=")[0] in done.stderr, done
        assert not Path("new").exists()


def test_a_start_without_room_for_files_in_a_folder_that_stays_is_no_running_run(folder):
    done = run("in.toml", "--out", "out", "--quiet", limit_bytes=100000, env={"PLX_TRACE": "1"})
    assert done.returncode == 2 and "cannot write 'out/mesh/sedov.00000.athdf'" in done.stderr
    assert status_of("out") == "failed"
