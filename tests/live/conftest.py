"""The fixture `run`: a running plx-star."""

import pytest
from live_run import PROGRAM, Run


@pytest.fixture
def run(tmp_path):
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built")
    running = Run(tmp_path)
    yield running
    running.close()
