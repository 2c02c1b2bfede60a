"""Benchmarks between processes: what is started, with which words and settings, and the message when it cannot be."""

import os
import stat

import pytest
import run_bench

MPIRUN = """#!/bin/sh
while [ "$1" != -n ]; do shift; done
shift 2
exec "$@"
"""
PROGRAM = """#!/bin/sh
if [ "$1 $2" = "inside transport" ]; then echo "transport TRANSPORT"; exit CODE; fi
part=alone; suffix=
while [ "$1" != --json ]; do
  case "$1" in inside) part=$2; shift;; --suffix) suffix=$2; shift;; esac
  shift
done
echo "[{\\"name\\": \\"net/$part$suffix${UCX_TLS:+ $UCX_TLS}$PLX_TRANSPORT\\", \\"value\\": 1, \\"unit\\": \\"us\\", \\"better\\": \\"lower\\"}]" > "$2"
"""


def write(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def make(transport="ucx", code=0, mpirun=True):
        write(tmp_path / "bench_net", PROGRAM.replace("TRANSPORT", transport, 1).replace("CODE", str(code)))
        (tmp_path / "path").mkdir()
        if mpirun:
            write(tmp_path / "path" / "mpirun", MPIRUN)
        for name in ("UCX_TLS", "PLX_TRANSPORT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PATH", f"{tmp_path / 'path'}{os.pathsep}/bin" if mpirun else str(tmp_path / "path"))
        return tmp_path

    return make


def rows_of(folder):
    there = run_bench.programs(folder, folder / "out")
    (folder / "out").mkdir()
    return [row["name"] for row in [*there.run("net", []), *run_bench.run_jobs(there, "net", ["--quick"])]]


def test_all_parts_run_with_their_settings(folder):
    own = ("alone", "round_trip", "rates", "bandwidth", "all_reduce", "large_all_reduce", "checkpoint", "put", "atomics")
    others = ["put_tcp tcp,self", "atomics_tcp tcp,self", "put_over_mpimpi", "atomics_over_mpimpi"]
    others += ["round_trip_tcp tcp,self", "rates_tcp tcp,self", "round_trip_over_mpimpi", "rates_over_mpimpi"]
    others += ["flood", "flood_over_mpimpi"]
    assert rows_of(folder()) == [f"net/{part}" for part in (*own, *others)]


def test_without_ucx_its_settings_are_not_tried(folder, capsys):
    parts = ("alone", "round_trip", "rates", "bandwidth", "all_reduce", "large_all_reduce", "checkpoint", "put", "atomics", "flood")
    assert rows_of(folder("mpi")) == [f"net/{part}" for part in parts]
    omitted = "put_tcp, atomics_tcp, put_over_mpi, atomics_over_mpi, round_trip_tcp, rates_tcp, round_trip_over_mpi, "
    assert f"{omitted}rates_over_mpi, flood_over_mpi are omitted" in capsys.readouterr().out


def test_without_mpirun_one_line_says_so(folder, capsys, monkeypatch):
    program = folder(mpirun=False) / "bench_net"
    write(program, program.read_text().replace("#!/bin/sh", "#!/bin/sh\nPATH=/bin:/usr/bin"))
    assert rows_of(program.parent) == ["net/alone"]
    assert "rows between processes are omitted: mpirun was not found; install Open MPI" in capsys.readouterr().out


def test_the_message_of_a_job_that_cannot_start_is_printed(folder, capsys):
    program = folder(code=2) / "bench_net"
    write(program, program.read_text().replace("transport ucx", "bench_net: no transport for a job"))
    assert rows_of(program.parent) == ["net/alone"]
    assert "omitted: bench_net: no transport for a job" in capsys.readouterr().out
