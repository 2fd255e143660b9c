"""What holds for every test, notebooks' cells included: offline, without bars, and what strict means."""

import os

import pytest
from hypothesis import settings

# Kernels that nbval and JupyterLab start inherit these.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["RAGKIT_PROGRESS"] = "0"

# A slow machine is no failure; a failing example is printed so that it can be run again.
settings.register_profile("course", deadline=None, print_blob=True)
settings.load_profile("course")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fail-skips",
        action="store_true",
        help="a test that would be skipped fails with its reason (course.py test --strict)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker("notebook")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    return _fail_skip(item.config, report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    return _fail_skip(collector.config, report)


def _fail_skip(config: pytest.Config, report):
    if config.getoption("fail_skips") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{reason} (a skip is a failure here: --strict)"
    return report
