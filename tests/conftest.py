"""Options and fixtures of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("fast", max_examples=20, deadline=None)
settings.register_profile(
    "ci", max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write golden files anew")
    parser.addoption("--long", action="store_true", help="also run what takes minutes")
    parser.addoption("--fuzz-seconds", type=float, default=5, help="time of each fuzzer")
    parser.addoption("--fuzz-seed", type=int, default=1, help="the fuzzers' inputs derive from it")
    parser.addoption(
        "--official-parser",
        type=int,
        default=60,
        help="logs whose diagrams Mermaid's own parsers read",
    )


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="takes minutes; give --long")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def data_path():
    """The folder of evaluation data; tests that need it skip where it is absent."""
    given = os.environ.get("AGENTMEM_DATA")
    path = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    if not path.is_dir():
        pytest.skip("no evaluation data; set AGENTMEM_DATA to its folder")
    return path
