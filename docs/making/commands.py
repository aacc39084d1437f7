"""The commands: what each of them says when it is asked for help."""

import os
import subprocess
import sys

from making.text import ROOT

COMMANDS = {
    "leml_theory.sweep": "measure the experiments or a grid of your own",
    "leml_theory.diagnose": "the theory on a data set",
    "leml_solver": "train, predict, evaluate",
    "leml_solver train": "",
    "leml_solver predict": "",
    "leml_solver evaluate": "",
    "paper_checks": "the paper, statement by statement",
    "paper_checks reproduce": "its tables on real data",
    "assignments.build": "build the course",
    "assignments.grade": "grade notebooks",
}


def command_pages():
    """Return the page of the commands: what each of them says when it is asked for help."""
    parts = ["# Commands", "What each command says to `--help`."]
    for command, what in COMMANDS.items():
        environment = {**os.environ, "COLUMNS": "98", "PYTHONPATH": str(ROOT)}
        line = [sys.executable, "-m", *command.split(), "--help"]
        done = subprocess.run(line, capture_output=True, text=True, env=environment, check=True)
        title = f"## python -m {command}" + (f": {what}" if what else "")
        parts += [title, f"```text\n{done.stdout.rstrip()}\n```"]
    return {"commands.md": "\n\n".join(parts) + "\n"}
