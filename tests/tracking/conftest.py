"""A repository with commits."""

import pytest
from helpers.gate import commit


@pytest.fixture
def repository(tmp_path):
    """A git repository that contains only a text file."""
    (tmp_path / "README.md").write_text("mine\n")
    commit(tmp_path, "first", "init", "-q", "-b", "main")
    return tmp_path
