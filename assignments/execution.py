"""Run a notebook from top to bottom and keep what it shows: in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from assignments.notebooks import Notebook

_SECONDS_PER_CELL = 120
_ROOT = Path(__file__).resolve().parents[1]
# Figures go into the notebook, also where MPLBACKEND asks for another backend, as servers do.
_SHOWN = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}


class ExecutionError(RuntimeError):
    """A notebook that stops; the message shows the cell and the error."""


def execute(notebook: Notebook) -> Notebook:
    """Return the notebook with its outputs; raises ExecutionError where a cell fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notebook.ipynb"
        path.write_text(json.dumps(notebook), encoding="utf-8")
        command = [sys.executable, "-m", "assignments.execution", str(path)]
        done = subprocess.run(
            command, cwd=_ROOT, env=os.environ | _SHOWN, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ExecutionError(f"the solution does not run:\n{done.stderr.strip()[-3000:]}")
        executed: Notebook = json.loads(path.read_text(encoding="utf-8"))
    executed["metadata"]["language_info"] = {"name": "python"}  # it would name Python's version
    return executed


def _execute_file(path: Path) -> None:
    """Run a notebook where it lies; nothing but its folder is its own."""
    nbformat, nbclient = import_module("nbformat"), import_module("nbclient")
    manager_class = import_module("jupyter_client.manager").AsyncKernelManager
    notebook = nbformat.read(path, as_version=4)
    # Files instead of ports: no network is needed, not even the machine's own.
    line = str(path.with_name("line"))
    manager = manager_class(kernel_name="python3", transport="ipc", ip=line)
    client = nbclient.NotebookClient(
        notebook,
        km=manager,
        timeout=_SECONDS_PER_CELL,
        record_timing=False,
        coalesce_streams=True,  # else the pieces of an output depend on the machine's load
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    nbformat.write(notebook, path)


if __name__ == "__main__":
    _execute_file(Path(sys.argv[1]))
