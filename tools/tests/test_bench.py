"""The output of `./plx bench` for given numbers: names, tables, the list of rows where plx is behind, scaling, curves."""

import json
import stat

import bench_tables
import pytest
import run_bench


def row(name, value, unit="ns", better="lower"):
    return {"name": name, "value": value, "unit": unit, "better": better}


ROWS = [
    row("fib/plx", 10.0),
    row("fib/tbb", 50.0),
    row("fib/serial/w1", 0.5),
    row("for_loop/plx/1us", 20.0, "%", "higher"),
    row("for_loop/omp/1us", 40.0, "%", "higher"),
    row("metg/stencil/plx", 0.2, "us"),
    row("metg/stencil/tbb", 0.1, "us"),
    row("metg/stencil/plx-graph", 2.0, "us"),
    row("probe/record", 2.0),
]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("fib/plx", ("fib", "plx")),
        ("fib/plx/w1", ("fib/w1", "plx")),
        ("metg/stencil/tbb-graph", ("metg/stencil (graph)", "tbb")),
        ("metg/stencil/omp/empty", ("metg/stencil/empty", "omp")),
        ("star/faces/b8", None),
        ("plx", None),
    ],
)
def test_a_name_is_a_row_and_a_library(name, expected):
    assert bench_tables.split_name(name) == expected


def test_each_row_stands_beside_the_best_other():
    lines = {line.split("  ")[0]: line for line in bench_tables.rivals_table(ROWS).splitlines()}
    assert lines["fib"].endswith("5.00 x tbb")
    assert lines["for_loop/1us"].endswith("0.50 x omp")
    assert " x " not in lines["metg/stencil (graph)"], "no library to compare with"
    assert "probe" not in "".join(lines)


def test_rows_where_plx_is_behind_are_named_the_worst_first():
    rows = [*ROWS, row("sort/plx", 3.0), row("sort/omp", 1.0)]
    named = bench_tables.behind(rows)
    assert [line.split(":")[0] for line in named] == ["sort", "for_loop/1us", "metg/stencil"]
    assert "200 % slower" in named[0] and "100 % less efficient" in named[1]
    assert bench_tables.behind([row("fib/plx", 1.0), row("fib/tbb", 1.0), row("fib/serial", 0.1)]) == []


def test_scaling_gives_speedups_of_times_but_not_of_metg():
    one = [row("uts/plx", 100.0), row("metg/fft/plx", 0.3, "us"), row("only/plx/w1", 1.0)]
    four = [row("uts/plx", 26.0), row("metg/fft/plx", 0.4, "us")]
    text = bench_tables.scaling_markdown({1: one, 4: four})
    assert "| plx | 100 | 26 (3.8 x) |" in text
    assert "| plx | 0.3 | 0.4 |" in text
    assert "only" not in text


PROGRAM = """#!/bin/sh
while [ "$1" != --json ]; do echo "argument $1"; shift; done
echo "# plx 1, oneTBB 2; 2 threads each"
echo "# curve stencil plx 64:1 32:0.9 16:0.4"
echo '[{"name": "metg/stencil/plx", "value": 30, "unit": "us", "better": "lower"}]' > "$2"
"""


@pytest.fixture
def packed(tmp_path):
    program = tmp_path / "bench_metg"
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def test_programs_of_a_folder_run_without_a_build(packed, capsys, monkeypatch):
    monkeypatch.setattr(run_bench, "draw_curves", lambda programs: print(json.dumps(programs.curves)))
    result, out = packed / "all.json", packed / "out"
    arguments = ["metg", "--bin", str(packed), "--out", str(out), "--json", str(result), "--threads", "3"]
    assert run_bench.main(arguments) == 0
    text = capsys.readouterr().out
    assert '{"stencil": {"plx": [[64.0, 1.0], [32.0, 0.9], [16.0, 0.4]]}}' in text
    assert "plx 1, oneTBB 2" in text
    assert json.loads(result.read_text())[0]["value"] == 30
    assert "argument --threads" in (out / "metg.log").read_text()


def test_several_thread_counts_give_a_table(packed, capsys, monkeypatch):
    monkeypatch.setattr(run_bench, "draw_curves", lambda programs: None)
    assert run_bench.main(["rt", "--bin", str(packed), "--out", str(packed / "out"), "--threads", "1,2"]) == 0
    assert "| plx | 30 | 30 |" in (packed / "out" / "scaling.md").read_text()
    assert "written:" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nonsense"], "expected one of: rt, metg"),
        (["--threads", "0"], "expected a number"),
        (["--threads", "1,x"], "expected a number"),
        (["--json", "/no/such/folder/x.json"], "does not exist"),
    ],
)
def test_wrong_options_are_code_2(packed, arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        run_bench.main([*arguments, "--bin", str(packed), "--out", str(packed / "out")])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_code_2(capsys):
    with pytest.raises(SystemExit) as ended:
        run_bench.main(["--bin", "/no/such/folder"])
    assert ended.value.code == 2


def test_curves_become_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    import bench_plot

    curve = [[64, 0.99], [1, 0.6], [0.5, 0.4]]
    assert bench_plot.half_grain(curve) == pytest.approx(1 / 2**0.5)
    assert bench_plot.half_grain(curve[:2]) is None
    panels = {"stencil": {"plx": curve, "omp": [[64, 0.3]]}, "fft": {"tbb": curve, "of-later": curve}}
    bench_plot.draw({"caption": "here", "curves": panels}, tmp_path / "metg.png")
    assert (tmp_path / "metg.png").read_bytes().startswith(b"\x89PNG")
