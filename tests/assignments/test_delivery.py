"""What is delivered works where nothing of the project is installed."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from test_build import needs, wheel  # noqa: F401
from test_grade_command import TINY, a_wheel, hand_in

from assignments.assignment import read_assignment
from assignments.build import Builder
from assignments.bundles import make_wheel, write_autograder
from assignments.notebooks import solution_notebook, student_notebook
from assignments.otter_files import write_otter_files
from assignments.source import SOURCES

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "assignments" / "delivery" / "requirements.constraints.txt"
PACKAGES = ("leml_theory", "leml_solver", "simulations", "assignments")


@pytest.fixture
def tiny(tmp_path):
    """Return an assignment whose set-up needs the project's packages."""
    (tmp_path / "sources").mkdir()
    path = tmp_path / "sources" / "tiny.md"
    path.write_text(
        TINY.replace("import numpy as np\n", "import numpy as np\nimport leml_theory\n")
    )
    return read_assignment(path)


def test_the_pins_are_what_the_project_asks_for():
    packaging = pytest.importorskip("packaging.requirements")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = settings["optional-dependencies"]
    wanted = [*settings["dependencies"], *extras["course"], *extras["test"], "jupyterlab"]
    pins: dict[str, set[str]] = {}
    for line in PINS.read_text().splitlines():
        if not line.startswith("#"):
            name, version = re.match(r"([\w.-]+)==([\w.]+)", line).groups()
            pins.setdefault(name.lower(), set()).add(version)
    for line in wanted:
        requirement = packaging.Requirement(line)
        versions = pins[requirement.name.lower()]
        assert all(requirement.specifier.contains(v) for v in versions), line


def test_the_set_up_stops_at_the_first_fault(tmp_path, tiny):
    """A wheel that is none: pip fails, and so does the script, before it says ready."""
    bad = tmp_path / "leml_theory-0.0-py3-none-any.whl"
    bad.write_bytes(b"no wheel")
    write_autograder(tmp_path / "auto", tiny.specification(), bad)
    (tmp_path / "auto" / "requirements.txt").write_text(f"./{bad.name}\n")
    script = tmp_path / "auto" / "setup.sh"
    done = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode != 0, done.stdout
    assert "ready" not in done.stdout


def test_the_tests_are_for_the_graders_user_alone(tmp_path, tiny):
    """Where a container has no Landlock, answers run as nobody: the mode of the file holds."""
    source = tmp_path / "base" / "source"
    write_autograder(source, tiny.specification(), a_wheel(tmp_path))
    (source / ".venv" / "bin").mkdir(parents=True)
    (source / ".venv" / "bin" / "python").symlink_to(shutil.which("true"))
    (tmp_path / "base" / "submission").mkdir()
    (tmp_path / "base" / "submission" / "a.ipynb").write_text("{}")
    environment = os.environ | {"AUTOGRADER": str(tmp_path / "base")}
    subprocess.run(["bash", str(source / "run_autograder")], env=environment, check=False)
    assert (source / "specification.json").stat().st_mode & 0o077 == 0


def test_a_machine_without_a_python_and_without_a_manager_is_told(tmp_path):
    """Nothing on the path but the shell's own tools."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "dirname", "tar"):
        (tools / name).symlink_to(shutil.which(name))
    script = ROOT / "assignments" / "delivery" / "setup.sh"
    done = subprocess.run(
        [str(tools / "bash"), str(script)],
        env={"PATH": str(tools), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Python 3.11 or newer with venv is needed and could not be installed" in done.stderr


def test_the_instructors_bundle_stands_alone(tmp_path, wheel):  # noqa: F811
    """It has sources and wheel, and makes the wheel again where there is no project."""
    builder = Builder(tmp_path / "out", wheel)
    (tmp_path / "out" / "instructor").mkdir(parents=True)
    with zipfile.ZipFile(builder.bundle()) as archive:
        archive.extractall(tmp_path / "course")
    assert (tmp_path / "course" / "assignments" / "sources" / "a_promise.md").is_file()
    again = make_wheel(tmp_path / "again", root=tmp_path / "course")
    assert again.read_bytes() == wheel.read_bytes()


def hidden_environment(folder, wheel=None):  # noqa: F811
    """Return a Python that has the third-party packages of this one, and of ours only the wheel."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    places = {sysconfig.get_paths()["purelib"]} | {p for p in sys.path if "site-packages" in p}
    own = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    # sitecustomize, not .pth: the .pth files over there would bring the checkout back.
    (own / "sitecustomize.py").write_text(f"import sys; sys.path += {sorted(places)!r}\n")
    if wheel is not None:
        zipfile.ZipFile(wheel).extractall(own)
    return folder / "bin" / "python"


def otter_run(python, archive, notebook, out):
    out.mkdir()
    command = [str(python), "-m", "otter", "run", "-a", str(archive), "-o", str(out), str(notebook)]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=out, env=environment, capture_output=True, text=True, check=False
    )
    assert (out / "results.json").is_file(), done.stderr[-2000:]
    return json.loads((out / "results.json").read_text())


@needs("otter", "ipykernel")
def test_the_otter_zip_grades_where_the_packages_are_hidden(tiny, tmp_path, wheel):  # noqa: F811
    archive, student = tmp_path / "tiny-otter.zip", tmp_path / "student.ipynb"
    write_otter_files(student, archive, tiny, 3, wheel)
    hand_in(tmp_path / "perfect.ipynb", solution_notebook(tiny))
    with zipfile.ZipFile(archive) as content:
        content.extractall(tmp_path / "zip")
    with tarfile.open(tmp_path / "zip" / "requirements.tar") as tar:
        assert tar.getnames() == [wheel.name]  # all that `otter grade` copies before the set-up
    assert f"./{wheel.name}" in (tmp_path / "zip" / "requirements.txt").read_text()
    without = hidden_environment(tmp_path / "without")
    probe = "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, sys.argv[1:])))"
    found = subprocess.run([str(without), "-c", probe, *PACKAGES], cwd=tmp_path, check=False)
    assert found.returncode == 0
    brought = hidden_environment(tmp_path / "with", tmp_path / "zip" / wheel.name)
    result = otter_run(brought, archive, tmp_path / "perfect.ipynb", tmp_path / "one")
    assert sum(test.get("score", 0) for test in result["tests"]) == 5
    assert "WEAK FENCE: otter runs answers and tests in one process" in json.dumps(result)
    result = otter_run(without, archive, tmp_path / "perfect.ipynb", tmp_path / "two")
    assert "NOT GRADED PROPERLY: the package leml-theory is not installed" in json.dumps(result)


MIRROR = os.environ.get("LEML_DEBIAN_MIRROR", "http://deb.debian.org/debian")
SYSTEM = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


@pytest.fixture(scope="module")
def bare_root(tmp_path_factory):
    """Return a root file system with nothing but Debian's smallest base."""
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("a bare root file system needs root and debootstrap")
    root = tmp_path_factory.mktemp("bare")
    command = ["debootstrap", "--variant=minbase", "bookworm", str(root), MIRROR]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"debootstrap found no packages at {MIRROR}; set LEML_DEBIAN_MIRROR")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    for place in ("proc", "dev"):
        subprocess.run(["mount", "--rbind", f"/{place}", str(root / place)], check=True)
    yield root
    for place in ("proc", "dev"):
        subprocess.run(["umount", "-l", str(root / place)], check=True)


def index_settings(root):
    """Return what reaches the package index from inside: pip's variables and certificate here."""
    settings = {k: v for k, v in os.environ.items() if k.startswith("PIP_") and "FIND" not in k}
    if certificate := settings.get("PIP_CERT"):
        shutil.copy(certificate, root / "index.crt")
        settings["PIP_CERT"] = "/index.crt"
    return settings


def install(root, archive):
    """Unpack a zip as Gradescope does and run its set-up."""
    base = root / "autograder"
    shutil.rmtree(base, ignore_errors=True)
    for name in ("source", "submission", "results"):
        (base / name).mkdir(parents=True)
    subprocess.run(["unzip", "-q", str(archive), "-d", str(base / "source")], check=True)
    shutil.copy(base / "source" / "run_autograder", base / "run_autograder")
    (base / "submission_metadata.json").write_text("{}")
    command = ["chroot", str(root), "bash", "/autograder/source/setup.sh"]
    environment = SYSTEM | index_settings(root)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def graded_inside(root, notebook, prefix=()):
    """Grade one notebook with the zip's own script; return the points and the whole result."""
    base = root / "autograder"
    for name in ("submission", "results"):
        shutil.rmtree(base / name)
        (base / name).mkdir()
    hand_in(base / "submission" / "a.ipynb", notebook)
    command = [*prefix, "chroot", str(root), "/autograder/run_autograder"]
    done = subprocess.run(command, env=SYSTEM, capture_output=True, text=True, check=False)
    results = base / "results" / "results.json"
    assert results.is_file(), done.stdout[-2000:] + done.stderr[-2000:]
    content = json.loads(results.read_text())
    return sum(test.get("score", 0) for test in content["tests"]), content


@pytest.mark.long
@needs("otter", "ipykernel")
@pytest.mark.parametrize("part", ["gradescope", "otter"])
def test_a_bundle_works_in_a_bare_root_file_system(part, bare_root, tmp_path, wheel):  # noqa: F811
    """Ten minutes each: the zip, a package index, and no index any more after the set-up."""
    path = SOURCES / "a_promise.md"
    ((_, archive, _),) = Builder(tmp_path, wheel).build(path, (part,))
    install(bare_root, archive)
    source = read_assignment(path)
    assert graded_inside(bare_root, solution_notebook(source))[0] == 20
    cut = ("unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")  # lo: for kernels
    assert graded_inside(bare_root, solution_notebook(source), cut)[0] == 20
    points, content = graded_inside(bare_root, student_notebook(source), cut)
    assert points == 0
    assert ("WEAK FENCE" in json.dumps(content)) == (part == "otter")
