"""The marks that `./plx test` uses."""


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: only ./plx test --all runs it, or -R with its name")
    config.addinivalue_line("markers", "alone: not at the same time as other tests, because it measures the use of cores")
