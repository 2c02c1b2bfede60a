"""The package and the generator of runs are importable wherever pytest is started from."""

import shutil
import sys
from pathlib import Path

import pytest

here = Path(__file__).parent
for folder in (here, here.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import synthetic  # noqa: E402


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory):
    """A small complete run. Tests only read it."""
    return synthetic.write_run(tmp_path_factory.mktemp("runs") / "run", max_level=2)


@pytest.fixture
def own_run(shared_run, tmp_path):
    """A copy that a test may break."""
    return Path(shutil.copytree(shared_run, tmp_path / "run"))
