"""What several test files stand on: the small club as an open corpus, made once for each file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory.store import MemoryStore
from tests.club import rows
from tests.dumps import imported


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    folder = tmp_path_factory.mktemp("club")
    imported(folder, *rows())
    found = MemoryStore.open(folder / "corpus")
    yield found
    found.close()
