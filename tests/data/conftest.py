"""The handbook as a knowledge base, built once for all tests here."""

import pytest

import ragkit as rk


@pytest.fixture(scope="session")
def handbook():
    return rk.KnowledgeBase.from_folder(rk.data_path("handbook"))
