"""Fixtures that every suite shares."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
