"""A folder to write files into."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Write files below a new folder, text as UTF-8, and give the folder: write({"a.md": "# A"})."""

    def write_files(files):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return tmp_path

    return write_files
