"""Install the distributions of a commit that asv has checked out: the host and all its plugins.

The environment already has their dependencies, except CuPy, which is installed only if there is a device.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]


def cupy(reported: str) -> list[str]:
    """The CuPy package for the CUDA version that `nvidia-smi` reports; nothing if CuPy does not support it."""
    version = re.search(r"CUDA Version: (\d+)", reported)
    return [f"cupy-cuda{version[1]}x[ctk]>=14"] if version and version[1] in ("12", "13") else []


def main(checkout: str) -> None:
    """Install them."""
    root = Path(checkout)
    found = [root, *(file.parent for file in sorted(root.glob("plugins/*/pyproject.toml")))]
    subprocess.check_call([*PIP, "--no-deps", "--no-build-isolation", "--force-reinstall", *map(str, found)])
    if shutil.which("nvidia-smi"):
        reported = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=False).stdout
        if wanted := cupy(reported):
            subprocess.check_call([*PIP, *wanted])


if __name__ == "__main__":
    main(*sys.argv[1:])
