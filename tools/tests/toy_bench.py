"""A benchmark for tests of ./plx bench whose numbers are known."""

import stat

import pytest
import run_bench


@pytest.fixture
def folder(tmp_path):
    """A program that measures 1.0, 1.01, 0.99, ... times the number in the file `cost`."""
    program = tmp_path / "bench_toy"
    program.write_text(
        "#!/usr/bin/env python3\nimport json, pathlib, sys\nhere = pathlib.Path(sys.argv[0]).parent\n"
        "n = len(list(here.glob('turn*')))\n(here / f'turn{n}').touch()\n"
        "value = float((here / 'cost').read_text()) * [1, 1.01, 0.99][n % 3]\n"
        "rows = [{'name': 'toy', 'value': value, 'unit': 'ns', 'better': 'lower'}]\n"
        "pathlib.Path(sys.argv[-1]).write_text(json.dumps(rows))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def bench(folder, cost, *more):
    (folder / "cost").write_text(str(cost))
    return run_bench.main(["toy", "--bin", str(folder), "--out", str(folder / "out"), *more])
