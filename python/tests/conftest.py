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


@pytest.fixture
def quick(monkeypatch):
    """Fills every figure but makes no pixels of it: for tests that look at the page, not at the paper."""
    import matplotlib
    from matplotlib.figure import Figure

    from parallax.star import parts

    def fill(picture, paper):
        if paper.name == "light":
            with matplotlib.rc_context(paper.rc()):
                picture.draw(Figure(figsize=picture.size), paper)
        return b"\x89PNG" + bytes(20)

    monkeypatch.setattr(parts, "render", fill)
