"""The marks that `./plx test` uses, and an end for every program that a test has started."""

import children
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: only ./plx test --all runs it, or -R with its name")
    config.addinivalue_line("markers", "alone: not at the same time as other tests, because it measures the use of cores")


@pytest.fixture(autouse=True)
def _no_child_is_left():
    yield
    children.kill_those_left()
