"""Install the distributions of a commit that asv has checked out: the host and every plugin that is there."""

import subprocess
import sys
from pathlib import Path


def main(checkout: str) -> None:
    """Install them, without what they depend on, which the environment has."""
    root = Path(checkout)
    found = [root, *(file.parent for file in sorted(root.glob("plugins/*/pyproject.toml")))]
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
    subprocess.check_call([*command, "--no-build-isolation", "--force-reinstall", *map(str, found)])


if __name__ == "__main__":
    main(*sys.argv[1:])
