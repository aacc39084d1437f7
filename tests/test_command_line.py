"""The shell of the commands: options that are numbers, and every way in which a command ends."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import numbers, run_command, table_lines, whole_number, whole_numbers, words

ROOT = Path(__file__).resolve().parents[1]


class UnusableError(RuntimeError):
    pass


class FailedError(RuntimeError):
    pass


def ending(error):
    def work():
        raise error

    return run_command("toy", work, unusable=(UnusableError,), failed=(FailedError,))


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (ValueError("`n` must be positive"), 2, "toy: `n` must be positive\n"),
        (TypeError("no number"), 2, "toy: no number\n"),
        (FileNotFoundError("no such file"), 2, "toy: no such file\n"),
        (UnusableError("another grid"), 2, "toy: another grid\n"),
        (FailedError("3 cells failed"), 1, "toy: 3 cells failed\n"),
        (MemoryError("8 GiB"), 2, "toy: not enough memory (8 GiB); lower the numbers asked for\n"),
        (KeyboardInterrupt(), 130, "toy: stopped\n"),
        (KeyboardInterrupt("5 cells are safe"), 130, "toy: 5 cells are safe\n"),
    ],
)
def test_what_ends_a_command_is_one_line_and_a_status(error, status, message, capsys):
    assert ending(error) == status
    assert capsys.readouterr().err == message


def test_a_mistake_in_the_program_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        ending(ZeroDivisionError("a bug"))


@pytest.mark.parametrize(("returned", "status"), [(None, 0), (0, 0), (1, 1)])
def test_the_work_decides_on_the_status(returned, status, capsys):
    assert run_command("toy", lambda: returned) == status
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("lines", [1, 100_000])  # within the buffer of standard output, and beyond
def test_a_reader_that_goes_away_is_no_error(lines):
    code = f"""
import sys
from command_line import run_command
sys.stdin.read()
sys.exit(run_command("toy", lambda: print("line\\n" * {lines})))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()  # before the first line is written: the program waits for its input
    process.stdin.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_lists_are_separated_by_commas():
    assert words(" a, b,,a ") == ["a", "b"]
    assert whole_numbers()("3,1") == [3, 1]
    assert numbers(0.5, 2)("0.5,2,1e0") == [0.5, 2.0, 1.0]
    assert whole_number(0)("0") == 0


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (words, " , ", "values separated by commas, got ' , '"),
        (whole_number(0), "-1", "a whole number of at least 0, got '-1'"),
        (whole_number(), "1.5", "a whole number of at least 1, got '1.5'"),
        (whole_numbers(1, 10), "2,11", "whole numbers of at least 1 and at most 10, got '2,11'"),
        (whole_numbers(), "2,x", "whole numbers of at least 1, got '2,x'"),
        (numbers(0.5, 2), "nan", "numbers from 0.5 to 2, got 'nan'"),
        (numbers(0.5, 2), "1,3", "numbers from 0.5 to 2, got '1,3'"),
    ],
)
def test_what_is_no_such_number_is_said(reader, text, message):
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        reader(text)
    assert str(caught.value) == f"expected {message}"


def test_what_is_the_same_in_all_lines_of_a_wide_table_is_told_once(monkeypatch):
    """At 60 columns a table of a grid was wrapped by the terminal, three columns the same."""
    heads = ["ball", "n", "value", "draws", "verdict"]
    rows = [[ball, "128", f"{value:.4f} ± 0.0001", "8", "reported"]
            for ball, value in (("trace", 0.1), ("frobenius", 0.2))]  # fmt: skip
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "30")
    *lines, told = table_lines(heads, rows)
    assert all(len(line) <= 30 for line in lines)
    assert told == "(in all lines: n 128, draws 8, verdict reported)"
    assert "0.2000" in lines[2]
    monkeypatch.setenv("COLUMNS", "100")
    assert table_lines(heads, rows)[0].split() == heads
    monkeypatch.setenv("COLUMNS", "20")  # numbers are never cut, only the gaps between them
    numbers_only = [["123456"] * 3, ["234567"] * 3]
    assert table_lines(["a", "b", "c"], numbers_only)[1] == "123456 123456 123456"
