"""plx-star from the outside: invalid input, full disks, stopping and resuming, an invalid state, progress.
"""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import children
import pytest
from built import BIN, ROOT, needs

h5py = pytest.importorskip("h5py")
np = pytest.importorskip("numpy")

PROGRAM = BIN / "plx-star"
pytestmark = needs("plx-star")

INPUT = """
[problem]
name = "sedov"
[mesh]
root_blocks = [2, 2, 2]
max_level = 1
lower = [-0.5, -0.5, -0.5]
upper = [0.5, 0.5, 0.5]
[refinement]
interval = 2
gradient_of = ["press"]
[run]
t_end = 0.05
max_steps = 6
[output]
precision = "double"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with the input `in.toml`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.toml").write_text(INPUT)
    return tmp_path


def run(*arguments, limit_bytes=None, env=None):
    def limit():
        if limit_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        preexec_fn=limit,
        env={**os.environ, **(env or {})},
    )


def check_refused(done, *parts):
    """Checks for exit code 2 and one line that contains all parts."""
    assert done.returncode == 2, done
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    for part in parts:
        assert part in lines[0], lines[0]


def last_mesh(out) -> dict:
    path = sorted((Path(out) / "mesh").glob("*.athdf"))[-1]
    with h5py.File(path) as f:
        return {
            "time": float(f.attrs["Time"]),
            "levels": f["Levels"][:],
            "where": f["LogicalLocations"][:],
            "prim": f["prim"][:],
        }


def same(a: dict, b: dict) -> bool:
    return all(np.array_equal(a[name], b[name]) for name in a)


WRONG = [
    (["missing.toml"], ["missing.toml", "No such file"]),
    ([], ["expected an input file"]),
    (["in.toml", "second.toml"], ["second.toml"]),
    (["in.toml", "--nonsense"], ["--nonsense"]),
    (["in.toml", "--threads", "0"], ["--threads"]),
    (["in.toml", "--set", "mesh.max_levl=2"], ["mesh.max_levl", "did you mean 'mesh.max_level'"]),
    (["in.toml", "--set", "hydro.cfl=2"], ["hydro.cfl", "2"]),
    (["in.toml", "--set", "hydro.cfl=fast"], ["hydro.cfl", "fast"]),
    (["in.toml", "--set", "hydro.flux=roe"], ["hydro.flux", "hllc"]),
    (["in.toml", "--set", "mesh.max_level=22"], ["mesh.max_level", "21"]),
    (["in.toml", "--set", "mesh.block_size=12"], ["mesh.block_size", "12", "multiples of 8"]),
    (["in.toml", "--set", "mesh.block_size=9"], ["mesh.block_size", "9"]),
    (["in.toml", "--set", "mesh.block_size=6"], ["mesh.block_size", "6", "8"]),
    (
        ["in.toml", "--set", "mesh.lower=[1e15,1e15,1e15]"]
        + ["--set", "mesh.upper=[1000000000000001,1000000000000001,1000000000000001]"]
        + ["--set", "sedov.centre=[1e15,1e15,1e15]"],
        ["mesh.lower", "cannot be distinguished"],
    ),
    (["in.toml", "--set", "mesh.lower=[-1e308,-1e308,-1e308]"], ["mesh.lower", "beyond the range"]),
    (["in.toml", "--set", "sedov.start_time=1e-300"], ["sedov.start_time", "finest cells"]),
    (["in.toml", "--set", "refinement.regions=[3,4,3,4,3,4,1]"], ["refinement.regions", "outside of the mesh"]),
    (["in.toml", "--set", "output.mesh_interval=1e-300"], ["output.mesh_interval", "mesh files"]),
    (["in.toml", "--set", "problem.name=sod", "--set", "sod.left=[1,1e308,1]"], ["initial state is not finite"]),
    (["/dev/zero"], ["/dev/zero"]),
    (["in.toml", "--out=", "--validate"], ["--out=", "expected a value"]),
    (["in.toml", "--allow-change", "hydro.cfl"], ["--allow-change", "--resume"]),
    (["in.toml", "--set", "mesh.root_blocks=[2,2,3]"], ["cubes"]),
    (["in.toml", "--set", "mesh.root_blocks=[1000,1000,1000]"], ["memory"]),
    (["in.toml", "--set", "mesh.upper=[-1,0.5,0.5]"], ["mesh.upper"]),
    (["in.toml", "--set", "refinement.regions=[0,1]"], ["refinement.regions", "seven"]),
    (["in.toml", "--set", "refinement.regions=[0.1,0,0,0.1,0,0.1,1]"], ["refinement.regions", "x lower < upper"]),
    (["in.toml", "--set", "refinement.regions=[0,0.1,0,0.1,0,0.1,22]"], ["refinement.regions", "level", "22"]),
    (["in.toml", "--set", "run.t_end=inf"], ["run.t_end", "finite"]),
    (["in.toml", "--set", "problem.name=sedof"], ["sedof", "sedov"]),
    (["in.toml", "--set", "sod.position=0"], ["sod.position"]),
    (["in.toml", "--resume", "nowhere"], ["nowhere", "checkpoint"]),
    (["broken.toml"], ["broken.toml:2:"]),
    (["unknown.toml"], ["unknown.toml:5:", "mesh.blok_size", "mesh.block_size"]),
    (["nameless.toml"], ["problem.name", "sedov"]),
    (["in.toml", "--out", "in.toml"], ["in.toml", "is a file"]),
    (["in.toml", "--out", "in.toml/below"], ["in.toml"]),
]


@pytest.mark.parametrize("arguments,parts", WRONG, ids=[" ".join(w[0])[:60] or "nothing" for w in WRONG])
def test_wrong_input_is_one_line_and_leaves_nothing(folder, arguments, parts):
    (folder / "broken.toml").write_text('[problem]\nname = "sedov\n')
    (folder / "unknown.toml").write_text('[problem]\nname = "sedov"\n\n[mesh]\nblok_size = 8\n')
    (folder / "nameless.toml").write_text("[mesh]\nmax_level = 0\n")
    before = sorted(folder.rglob("*"))
    check_refused(run(*arguments), *parts)
    assert sorted(folder.rglob("*")) == before


def test_unknown_instruction_set(folder):
    check_refused(run("in.toml", env={"PLX_ISA": "abacus"}), "abacus", "PLX_ISA")


def test_output_folder_in_use(folder):
    (folder / "out").mkdir()
    (folder / "out" / "precious.txt").write_text("mine")
    refused = run("in.toml", "--out", "out")
    check_refused(refused, "out", "not empty", "name another")
    assert "--resume" not in refused.stderr  # it has no run
    assert [p.name for p in (folder / "out").iterdir()] == ["precious.txt"]


def test_questions_without_a_run(folder):
    done = run("in.toml", "--validate")
    assert done.returncode == 0 and "fine" in done.stdout
    done = run("in.toml", "--print-config", "--set", "hydro.cfl=0.3")
    assert done.returncode == 0
    lines = {line.split(" =")[0].strip(): line for line in done.stdout.splitlines() if " =" in line}
    assert "in.toml:" in lines["mesh.max_level"] and "--set" in lines["hydro.cfl"] and "default" in lines["hydro.flux"]
    done = run("--list-options")
    assert done.returncode == 0 and "mesh.max_level" in done.stdout and "sod.position" in done.stdout
    assert not [p for p in folder.iterdir() if p.is_dir()]


def test_validate_needs_no_free_folder(folder):
    (folder / "run-sod").mkdir()
    (folder / "run-sod" / "earlier.txt").write_text("mine")
    text = (folder / "in.toml").read_text()
    assert run("in.toml", "--validate").returncode == 0, text
    check_refused(run("in.toml", "--validate", "--out", "run-sod"), "run-sod", "not empty")


def test_list_options_knows_one_form(folder):
    check_refused(run("--list-options", "json"), "json", "markdown")


def test_options_in_the_docs_are_these():
    assert (ROOT / "docs" / "plx-star-options.md").read_text().endswith(run("--list-options", "markdown").stdout)


def test_folder_of_a_run(folder):
    done = run("in.toml", "--out", "deep/out/", "--trace", "--threads", "2")
    assert done.returncode == 0, done.stderr
    assert "100 %" in done.stdout and "\r" not in done.stdout and "\033" not in done.stdout
    out = folder / "deep" / "out"
    names = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    expected = {"config.toml", "run.json", "history.csv", "counters.csv", "profile.csv", "workers.csv", "exact.csv"}
    expected |= {"trace.plxt", "log.txt", "checkpoint/sedov.00000006.h5"}
    expected |= {"waits.csv", "diagnose.csv", "timeline.csv", "concurrency.csv", "scatter.csv"}
    expected |= {"critical_path.csv", "critical_path.json", "flame.svg"}
    expected |= {f"mesh/sedov.0000{i}.{kind}" for i in (0, 1) for kind in ("athdf", "xdmf")}
    assert names == expected
    made = subprocess.run([str(BIN / "plx-trace"), "json", str(out), "-o", "trace.json"], capture_output=True, text=True)
    assert (made.returncode, made.stdout, made.stderr) == (0, "trace.json\n", "")
    trace = json.loads((folder / "trace.json").read_text())
    assert sum(event.get("name") == "star.step" for event in trace["traceEvents"] if event["ph"] == "X") >= 6
    summary = json.loads((out / "run.json").read_text())
    assert summary["status"] == "finished" and summary["steps"] == 6 and summary["workers"] == 2
    conserved = {row["quantity"]: row for row in summary["conservation"]}
    assert {"mass", "momentum_x", "momentum_y", "momentum_z", "angular_momentum_z", "energy"} == set(conserved)
    assert all(abs(conserved[name]["relative"]) < 1e-14 for name in conserved)
    assert re.search(r"(?m)^mass +1 ", done.stdout) and summary["floors"] == {"density": 0, "pressure": 0, "input": 0}
    history = (out / "history.csv").read_text().splitlines()
    assert len(history) == 8 and history[0].startswith("step,time,dt,blocks,cells,max_level")
    workers = (out / "workers.csv").read_text().splitlines()
    assert len(workers) == 3
    # The written configuration gives the same run.
    again = run(out / "config.toml", "--out", "again", "--quiet")
    assert again.returncode == 0 and again.stdout == ""
    assert same(last_mesh(out), last_mesh("again"))


def on_a_terminal(*arguments, env=None) -> bytes:
    """The output of the program on a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [str(PROGRAM), *arguments], stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, **(env or {})}
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(ours)
    assert child.wait(timeout=600) == 0
    return text


def test_progress_on_a_terminal(folder):
    text = on_a_terminal("in.toml", "--out", "out")
    assert b"\r" in text and b"M updates/s" in text and b"left" in text


def test_progress_under_a_launcher_is_plain_lines(folder):
    """Open MPI gives its processes terminals, whose output may be written to a file."""
    text = on_a_terminal("in.toml", "--out", "out", env={"OMPI_COMM_WORLD_RANK": "0", "PLX_TRANSPORT": "alone"})
    assert b"100 %" in text and b"\033" not in text


@pytest.mark.parametrize("workers", ["1", "4"])
def test_any_number_of_workers_gives_the_same_bits(folder, workers):
    assert run("in.toml", "--out", "a", "--quiet", "--threads", "2").returncode == 0
    assert run("in.toml", "--out", "b", "--quiet", "--threads", workers).returncode == 0
    assert same(last_mesh("a"), last_mesh("b"))


def has_rows(out, count):
    """The condition that a run has written more than this number of rows of its history."""
    history = Path(out) / "history.csv"
    return lambda: history.exists() and len(history.read_text().splitlines()) > count


def rows(out) -> list:
    """history.csv without the columns about wall time."""
    lines = [line.split(",") for line in (Path(out) / "history.csv").read_text().splitlines()]
    keep = [i for i, name in enumerate(lines[0]) if name not in ("wall_s", "cell_updates_per_s")]
    return [[line[i] for i in keep] for line in lines]


def test_resume_gives_the_same_bits_and_tables(folder):
    assert run("in.toml", "--out", "whole", "--quiet").returncode == 0
    assert run("in.toml", "--out", "part", "--quiet", "--set", "run.max_steps=3", "--threads", "1").returncode == 0
    done = run("--resume", "part", "--set", "run.max_steps=6", "--quiet")
    assert done.returncode == 0, done.stderr
    assert same(last_mesh("whole"), last_mesh("part"))
    assert rows("whole") == rows("part")
    assert json.loads(Path("part/run.json").read_text())["resumed_at_step"] == 3


def test_resume_into_another_folder(folder):
    assert run("in.toml", "--out", "part", "--quiet", "--set", "run.max_steps=3").returncode == 0
    before = {p: p.read_bytes() for p in Path("part").rglob("*") if p.is_file()}
    assert run("--resume", "part", "--out", "rest", "--set", "run.max_steps=6", "--quiet").returncode == 0
    assert run("in.toml", "--out", "whole", "--quiet").returncode == 0
    assert same(last_mesh("whole"), last_mesh("rest"))
    assert before == {p: p.read_bytes() for p in Path("part").rglob("*") if p.is_file()}


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal_and_resumed(folder, which):
    def until(step):  # the run has no end, so the signal always interrupts it
        return ["--set", f"run.max_steps={step}", "--set", "run.t_end=10"]

    child = children.start([PROGRAM, "in.toml", "--out", "out", *until(100000)])
    children.wait_for(child, has_rows("out", 5))
    child.send_signal(which)
    output, errors = children.end_of(child)
    assert child.returncode == 130, (output, errors)
    assert "plx-star --resume out" in output
    summary = json.loads((folder / "out" / "run.json").read_text())
    assert summary["status"] == "interrupted" and summary["steps"] > 0
    assert (folder / "out" / "profile.csv").exists() and (folder / "out" / "exact.csv").exists()
    assert len(list((folder / "out" / "checkpoint").glob("*.h5"))) == 1
    end = until(summary["steps"] + 5)
    assert run("--resume", "out", "--quiet", *end).returncode == 0
    assert run("in.toml", "--out", "whole", "--quiet", *end).returncode == 0
    assert same(last_mesh("whole"), last_mesh("out"))
    assert rows("whole") == rows("out")


def test_a_signal_while_the_first_mesh_is_made_says_when_the_run_stops(folder):
    large = ["--set", "mesh.root_blocks=[16,16,16]", "--set", "mesh.max_level=0"]  # most of a second until step 0
    endless = ["--set", "run.max_steps=100000", "--set", "run.t_end=10"]
    for turn in range(20):
        out = f"out{turn}"
        child = children.start([PROGRAM, "in.toml", "--out", out, "--quiet", *large, *endless])
        children.wait_for(child, lambda child=child: children.catches(child, signal.SIGTERM))
        child.send_signal(signal.SIGTERM)
        output, errors = children.end_of(child)
        assert child.returncode == 130 and f"plx-star --resume {out}" in output, (output, errors)
        if "stopping after this step" not in errors:  # otherwise the signal came after the first mesh
            break
    assert "stopping after the initial state and one step, with a checkpoint" in errors
    assert json.loads(Path(f"{out}/run.json").read_text())["steps"] == 1


def state_of(out) -> str:
    """The state of the run as determined by `parallax`."""
    source = "import sys, parallax; print(parallax.Run(sys.argv[1]).summary['status'])"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, "-B", "-c", source, out], capture_output=True, text=True, env=env).stdout.strip()


def test_a_run_that_is_killed_is_not_taken_for_running(folder):
    endless = ["--set", "run.max_steps=100000", "--set", "run.t_end=10"]
    child = children.start([PROGRAM, "in.toml", "--out", "out", "--quiet", *endless])
    children.wait_for(child, has_rows("out", 5))
    assert state_of("out") == "running"
    children.kill(child)
    assert json.loads((folder / "out" / "run.json").read_text())["status"] == "running"  # the last status it wrote
    assert state_of("out") == "was interrupted"


@pytest.fixture
def stopped(folder):
    assert run("in.toml", "--out", "out", "--quiet", "--set", "run.max_steps=3").returncode == 0
    return next((folder / "out" / "checkpoint").glob("*.h5"))


def files(folder) -> dict:
    return {p: p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def test_checkpoint_that_is_truncated(stopped):
    stopped.write_bytes(stopped.read_bytes()[:-1000])
    before = files("out")
    check_refused(run("--resume", "out"), stopped.name)
    assert files("out") == before


def test_checkpoint_that_is_damaged(stopped):
    content = bytearray(stopped.read_bytes())
    content[len(content) // 2] ^= 1
    stopped.write_bytes(content)
    check_refused(run("--resume", "out", "--set", "run.max_steps=6"), stopped.name)


def test_checkpoint_of_another_version(stopped):
    with h5py.File(stopped, "r+") as f:
        name = next(n for n in f.attrs if "version" in n.lower())
        f.attrs[name] = f.attrs[name] + 1
    check_refused(run("--resume", "out"), stopped.name, "version")


def test_checkpoint_of_another_input(stopped):
    before = files("out")
    check_refused(run("--resume", "out", "--set", "hydro.gamma=1.6"), "hydro.gamma")
    check_refused(run("in.toml", "--resume", "out", "--set", "mesh.max_level=2"), "mesh.max_level")
    assert files("out") == before


@pytest.mark.parametrize("option, variables", [(["--plx:trace"], {}), ([], {"PLX_TRACE": "1"})])
def test_a_trace_of_the_whole_run_is_in_its_folder(folder, option, variables):
    """The runtime begins it before the run takes the folder."""
    done = run("in.toml", "--out", "out", "--quiet", *option, env=variables)
    assert done.returncode == 0, done.stderr
    assert Path("out/trace.plxt").stat().st_size > 1000 and len(rows("out")) == 8
    before = files("out")
    check_refused(run("in.toml", "--out", "out", *option, env=variables), "'out'", "--resume out")
    assert files("out") == before


def test_full_disk_at_the_start(folder):
    for limit in (0, 300, 20_000):
        check_refused(run("in.toml", "--out", "out", "--quiet", limit_bytes=limit), "cannot", "out/")
        assert not (folder / "out").exists()


def test_full_disk_on_the_way(folder):
    whole = run("in.toml", "--out", "whole", "--quiet")
    assert whole.returncode == 0
    sizes = {p.name: p.stat().st_size for p in Path("whole").rglob("*") if p.is_file()}
    limit = sizes["sedov.00000006.h5"] - 1000  # enough for everything except the checkpoint
    assert limit > sizes["sedov.00001.athdf"]
    check_refused(run("in.toml", "--out", "out", "--quiet", limit_bytes=limit), "checkpoint", "cannot")
    left = sorted(p.name for p in Path("out").rglob("*") if p.is_file())
    assert not [name for name in left if name not in sizes], left
    assert not list(Path("out/checkpoint").iterdir())
    assert json.loads(Path("out/run.json").read_text())["status"] == "failed"


def test_state_that_floors_cannot_repair(folder):
    shutil.copy(ROOT / "inputs" / "einfeldt.toml", "far.toml")
    sets = ["einfeldt.left=[1.0,-40.0,0.4]", "einfeldt.right=[1.0,40.0,0.4]", "hydro.density_floor=0"]
    sets += ["hydro.pressure_floor=0", "hydro.cfl=0.9", "output.precision=double"]
    done = run("far.toml", "--out", "out", "--quiet", *[x for s in sets for x in ("--set", s)])
    assert done.returncode == 1, done
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    for part in ("block level 0", "cell (", "x = ", "time "):
        assert part in lines[0], lines[0]
    summary = json.loads(Path("out/run.json").read_text())
    assert summary["status"] == "failed" and "block level" in summary["message"]
    state = last_mesh("out")
    assert np.all(np.isfinite(state["prim"])) and np.all(state["prim"][[0, 4]] > 0)
    assert state["time"] == summary["time"] and len(list(Path("out/mesh").glob("*.athdf"))) == 2


def test_an_intended_inflow_is_not_reported(folder):
    assert run(ROOT / "inputs" / "shu_osher.toml", "--out", "out", "--quiet", "--set", "run.t_end=0.05").returncode == 0
    names, first, *_, last = rows("out")
    assert float(last[names.index("out_mass")]) < -0.03 * float(first[names.index("mass")])
    assert "flowed in" not in Path("out/log.txt").read_text()


@pytest.mark.parametrize("sides, warns", [("zero_gradient", True), ("outflow", False)])
def test_mass_that_flows_in_is_reported_once(folder, sides, warns):
    (folder / "wind.toml").write_text(f"""
[problem]
name = "expressions"
[expressions]
density = "1"
velocity_x = "-x"
pressure = "0.1"
[mesh]
block_size = 8
lower = [-0.5, -0.5, -0.5]
upper = [0.5, 0.5, 0.5]
sides = ["{sides}", "{sides}", "periodic", "periodic", "periodic", "periodic"]
[run]
t_end = 0.1
""")
    done = run("wind.toml", "--out", "out", "--quiet")
    assert done.returncode == 0, done
    assert Path("out/log.txt").read_text().count("has flowed in through zero_gradient sides") == int(warns)


def test_an_answer_that_cannot_be_written(folder):
    for question in (["in.toml", "--print-config"], ["in.toml", "--validate"], ["--list-options"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(PROGRAM), *question], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and "No space left" in done.stderr, done


def test_messages_are_short_and_without_control_characters(folder):
    (folder / "long.toml").write_text('[problem]\nname = "' + "x" * 100_000 + '"\n')
    done = run("long.toml")
    assert done.returncode == 2 and len(done.stderr) < 3000 and "more bytes" in done.stderr
    (folder / "red.toml").write_text('[problem]\nname = "sedov"\n"\\u001b[31mred" = 1\n')
    done = run("red.toml")
    assert done.returncode == 2 and "\033" not in done.stderr and "\\x1b[31mred" in done.stderr


@pytest.mark.parametrize("cores", ["abc", "0-99999"])
def test_wrong_cores_are_wrong_input(folder, cores):
    check_refused(run("in.toml", "--out", "out", env={"PLX_CORES": cores}), cores)
    assert not (folder / "out").exists()


def test_density_below_the_floor_is_reported(folder):
    done = run("in.toml", "--out", "out", "--quiet", "--set", "sedov.density=1e-24", "--set", "run.max_steps=1")
    assert done.returncode == 0 and "hydro.density_floor" in done.stderr, done
    assert "hydro.density_floor" in Path("out/log.txt").read_text()
    done = run("in.toml", "--out", "far", "--quiet", "--set", "refinement.regions=[0,1,0,1,0,1,3]")
    assert done.returncode == 0 and "mesh.max_level" in done.stderr, done


def test_values_too_large_for_single_precision(folder):
    large = ["--set", "sedov.energy=1e60", "--set", "run.max_steps=1"]
    done = run("in.toml", "--out", "out", "--quiet", *large, "--set", "output.precision=single")
    check_refused(done, "single precision", "output.precision")
    assert not Path("out").exists()
    assert run("in.toml", "--out", "out", "--quiet", *large).returncode == 0


def test_no_mesh_file_at_the_start(folder):
    assert run("in.toml", "--out", "out", "--quiet", "--set", "output.mesh_at_start=false").returncode == 0
    assert [p.name for p in Path("out/mesh").glob("*.athdf")] == ["sedov.00000.athdf"]
    assert last_mesh("out")["time"] == json.loads(Path("out/run.json").read_text())["time"]


def test_mesh_files_are_due_once_at_each_multiple_of_the_interval(folder):
    steps = ["--quiet", "--set", "run.t_end=10", "--set", "run.max_steps=40"]
    assert run("in.toml", "--out", "first", *steps).returncode == 0
    columns = list(zip(*rows("first"), strict=True))
    t, dt = (np.array(next(c for c in columns if c[0] == name)[1:], float) for name in ("time", "dt"))
    # A step that ends at the interval, and that the difference of the next step's time and length puts before it.
    k = next(k for k in range(1, 40) if t[k + 1] - dt[k + 1] < t[k])
    assert run("in.toml", "--out", "out", *steps, "--set", f"output.mesh_interval={float(t[k])!r}").returncode == 0
    multiples = [int(x // t[k]) for x in t]
    due = [t[i] for i in range(1, 41) if multiples[i] > multiples[i - 1]]
    assert due[0] == t[k] and len(due) > 1
    times = []
    for path in sorted(Path("out/mesh").glob("*.athdf")):
        with h5py.File(path) as file:
            times.append(float(file.attrs["Time"]))
    assert times == [0.0, *due, *([] if due[-1] == t[-1] else [t[-1]])]


def test_the_input_may_be_a_pipe(folder):
    def values(path, before=""):
        words = ["bash", "-c", f"{before} exec {PROGRAM} {path} --print-config"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return [line.split("#")[0].split() for line in done.stdout.splitlines()]

    os.mkfifo("fifo")
    assert values("<(cat in.toml)") == values("in.toml")
    assert values("fifo", before="cat in.toml > fifo &") == values("in.toml")
    done = subprocess.run(["bash", "-c", f"exec {PROGRAM} <(echo [hydro; cat in.toml) --validate"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and ":1:7: " in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_damaged_grid_is_one_line_without_messages_of_hdf5(folder):
    with h5py.File("grid.h5", "w") as file:
        for name in "xyz":
            file[name] = [-0.25, 0.25]
        file["density"], file["pressure"] = np.ones((2, 2, 2)), np.ones((2, 2, 2))
    grid = ["--set", "problem.name=grid", "--set", "grid.file=grid.h5", "--set", "run.max_steps=1", "--quiet"]
    assert run("in.toml", *grid, "--out", "good").returncode == 0
    content = bytearray(Path("grid.h5").read_bytes())
    content[54] = 0xC8  # the address of the driver's information: HDF5 cannot close what it has opened
    Path("grid.h5").write_bytes(content)
    check_refused(run("in.toml", *grid), "grid.file: grid.h5: HDF5 cannot open it")
