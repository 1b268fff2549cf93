"""Options and fixtures of all tests."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also run what takes minutes")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    skip = pytest.mark.skip(reason="takes minutes; give --long")
    for item in items:
        if "long" in item.keywords:
            item.add_marker(skip)
