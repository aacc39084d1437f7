"""What a bundle brings so that it works on a machine that has nothing: a wheel, pins, set-up."""

import fnmatch
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from assignments import grading
from assignments.grading.specification import Specification

_ROOT = Path(__file__).resolve().parents[1]
_DELIVERY = Path(__file__).resolve().parent / "delivery"
_CONSTRAINTS = "requirements.constraints.txt"
_ANY_DAY = (2000, 1, 1, 0, 0, 0)  # one date for all files: the same content gives the same zip


class BundleError(RuntimeError):
    """A bundle that cannot be made; the message says what to do."""


def make_wheel(folder: Path, root: Path = _ROOT) -> Path:
    """Return a wheel of the project's packages, which the assignments are not among.

    It is built in a copy, so that the project's folder stays clean. An instructor's bundle has no
    project around it, but the wheel itself, which is copied.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ready = sorted(root.glob("leml_theory-*.whl"))
    if ready and not (root / "pyproject.toml").is_file():
        return Path(shutil.copy(ready[-1], folder))
    with tempfile.TemporaryDirectory() as copy:
        _copy_packages(root, Path(copy))
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder)]
        done = subprocess.run([*command, copy], capture_output=True, text=True, check=False)
    made = sorted(folder.glob("leml_theory-*.whl"))
    if done.returncode or not made:
        said = (done.stderr or done.stdout).strip()[-1000:]
        raise BundleError(f"the wheel was not built; pip needs a package index for that:\n{said}")
    return made[-1]


def _copy_packages(root: Path, copy: Path) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["packages"]["find"]["include"]
    for entry in root.iterdir():
        if entry.is_dir() and any(fnmatch.fnmatch(entry.name, pattern) for pattern in patterns):
            shutil.copytree(entry, copy / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(entry, copy)


def bring_requirements(folder: Path, wheel: Path, tools: list[str]) -> None:
    """Write the wheel, the pins, `requirements.txt` and `setup.sh` into a folder.

    `tools` are installed too, each in the version of the pins.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(wheel, folder)
    shutil.copy(_DELIVERY / _CONSTRAINTS, folder)
    lines = [f"-c {_CONSTRAINTS}", *tools, f"./{wheel.name}", ""]
    (folder / "requirements.txt").write_text("\n".join(lines), encoding="utf-8")
    copy_script("setup.sh", folder / "setup.sh")
    with tarfile.open(folder / "requirements.tar", "w") as archive:
        archive.add(wheel, wheel.name, filter=_without_owner)


def write_autograder(folder: Path, specification: Specification, wheel: Path) -> None:
    """Write a folder that pytest runs; it needs the project's packages but not this repository.

    `setup.sh` in it installs the wheel.
    """
    modules = sorted(Path(grading.__file__).parent.glob("*.py"))
    (folder / "grading").mkdir(parents=True, exist_ok=True)
    for module in modules:
        shutil.copy(module, folder / "grading" / module.name)
    specification.save(folder / "specification.json")
    for name in ("conftest.py.txt", "test_submission.py.txt", "pytest.ini"):
        copy_script(name, folder / name.removesuffix(".txt"))
    bring_requirements(folder, wheel, ["pytest"])
    copy_script("run_gradescope.sh", folder / "run_autograder")


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def copy_script(name: str, target: Path) -> None:
    """Copy a file of the delivery folder; scripts can be run."""
    shutil.copyfile(_DELIVERY / name, target)
    target.chmod(0o755 if name.endswith(".sh") else 0o644)


def zip_folder(folder: Path, target: Path) -> None:
    """Write the files of a folder as a zip; the same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            if "__pycache__" in path.parts:
                continue
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), _ANY_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (path.stat().st_mode & 0o777 | 0o100000) << 16
            archive.writestr(entry, path.read_bytes())
