"""`python -m leml_solver` on files: a run from end to end, and never a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from leml_solver.__main__ import main
from leml_solver.persistence import load_model

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with data in each format and a trained model."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 6)), 3)
    Y = (X[:, :4] > 0.3).astype(int)
    svm, xc, arff = [], ["80 6 4"], ["@relation toy"]
    arff += [f"@attribute x{j} numeric" for j in range(6)]
    arff += [*(f"@attribute y{j} {{0,1}}" for j in range(4)), "@data"]
    for x, y in zip(X.tolist(), Y.tolist(), strict=True):
        labels = ",".join(str(label) for label in range(4) if y[label])
        svm.append(f"{labels} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(x)))
        xc.append(f"{labels} " + " ".join(f"{j}:{value}" for j, value in enumerate(x)))
        arff.append(",".join(map(str, x + y)))
    for name, lines in (("data.svm", svm), ("data.txt", xc), ("data.arff", arff)):
        (folder / name).write_text("\n".join(lines) + "\n")
    np.savez(folder / "data.npz", X=X, Y=Y, train_idx=np.arange(60), test_idx=np.arange(60, 80))
    assert (
        main(["train", str(folder / "data.npz"), "--model", str(folder / "model"), "--quiet"]) == 0
    )
    return folder


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_train_and_evaluate(files, capsys):
    assert run("evaluate", files / "model", files / "data.npz", "--top", "1,2") == 0
    table = capsys.readouterr().out
    assert re.search(r"^rows +20 \(test_idx\)$", table, re.MULTILINE)
    top = float(re.search(r"^top-1 accuracy +([\d.]+) %$", table, re.MULTILINE).group(1))
    assert top > 80  # labels are thresholds of single features
    columns = {line.index(line.split("  ")[-1].strip()) for line in table.splitlines()}
    assert len(columns) == 1, "values are aligned"


@pytest.mark.parametrize("name", ["data.svm", "data.txt", "data.arff", "data.npz"])
def test_every_format_gives_the_same_model(files, tmp_path, capsys, name):
    more = ["--labels", "4"] if name == "data.arff" else []
    settings = ["--split", "0.25", "--seed", "3", "--rank", "2", "--iterations", "3", "--quiet"]
    assert run("train", files / name, "--model", tmp_path / "model", *settings, *more) == 0
    printed = capsys.readouterr().out
    assert "60 (train, 0.25 held out)" in printed
    assert "certified gap" in printed
    model = load_model(tmp_path / "model")
    path = files / f"reference-{name}.npy"
    np.save(path, model.W_ @ model.H_.T)
    for other in files.glob("reference-*.npy"):
        # X is dense in one file and sparse in the others: sums in another order
        assert np.allclose(np.load(other), np.load(path), atol=1e-6)
    assert run("evaluate", tmp_path / "model", files / name, *settings[:4], *more) == 0
    assert "20 (test, 0.25 held out)" in capsys.readouterr().out


def test_predict_streams_the_best_labels(files, tmp_path, capsysbinary):
    out = tmp_path / "answers.txt"
    assert run("predict", files / "model", files / "data.svm", "--top", "2", "--out", out) == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 80
    first = [pair.split(":") for pair in lines[0].split()]
    with np.load(files / "data.npz") as data:
        labels, scores = load_model(files / "model").predict_topk(
            data["X"][:1], 2, return_scores=True
        )
    assert [int(label) for label, _ in first] == labels[0].tolist()
    assert np.allclose([float(score) for _, score in first], scores[0], rtol=1e-4)  # six digits
    capsysbinary.readouterr()
    assert run("predict", files / "model", files / "data.npz", "--positive", "--top", "4") == 0
    printed = capsysbinary.readouterr().out.decode().splitlines()
    assert len(printed) == 80
    assert "-" not in "".join(printed).replace("e-", "")  # no negative score


def test_bad_lines_can_be_skipped(files, tmp_path, capsys):
    path = tmp_path / "bad.svm"
    path.write_text((files / "data.svm").read_text() + "not a row\n")
    assert run("train", path, "--model", tmp_path / "m", "--quiet") == 2
    assert "bad.svm, line 81" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
    assert run("train", path, "--model", tmp_path / "m", "--quiet", "--lenient") == 0
    assert "skipped 1 bad line\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "{f}/absent", "--model", "{t}/m"], "cannot be read"),
        (
            ["train", "{f}", "--model", "{t}/m"],
            r"folder with blocks\.json; make one with .* convert",
        ),
        (["train", "{f}/data.svm", "--model", "{t}/no/m"], "cannot be written"),
        (["train", "{f}/data.svm", "--model", "{t}"], "cannot be written"),
        (["train", "{f}/data.svm", "--model", "{t}/m", "--penalty", "nan"], "--penalty must"),
        (["train", "{f}/data.svm", "--model", "{t}/m", "--split", "mulan"], "mulan_train_idx"),
        (["train", "{f}/data.arff", "--model", "{t}/m"], "--labels|labels="),
        (["evaluate", "{f}/data.npz", "{f}/data.npz"], "written by save_model"),
        (["evaluate", "{f}/data.svm", "{f}/data.npz"], "not a model file"),
        (["evaluate", "{f}/absent", "{f}/data.npz"], "No such file"),
        (["evaluate", "{f}/model", "{f}/data.npz", "--top", "9"], "number of labels, 4, got 9"),
        (["predict", "{f}/model", "{f}/data.npz", "--top", "9"], "from 1 to 4"),
        (["predict", "{f}/model", "{f}/data.npz", "--out", "{t}/no/x"], "cannot be written"),
        (["predict", "{f}/model", "{t}/wide.txt"], "expected 6 features"),
    ],
)
def test_bad_usage_has_status_two_and_no_traceback(files, tmp_path, capsys, arguments, message):
    (tmp_path / "wide.txt").write_text("1 7 4\n0 6:1\n")
    filled = [argument.format(f=files, t=tmp_path) for argument in arguments]
    assert main([*filled, "--quiet"] if filled[0] == "train" else filled) == 2
    error = capsys.readouterr().err
    assert error.startswith("leml_solver: ")
    assert re.search(message, error)
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "command"),
        (["paint"], "paint"),
        (["train"], "data"),
        (["evaluate", "a", "b", "--top", "x"], "whole numbers of at least 1, got 'x'"),
        (["train", "a", "--rank"], "--rank"),
        (["train", "a", "--model", "m", "--rank", "0"], "--rank: expected a whole number of at"),
        (["train", "a", "--model", "m", "--split", "2"], "strictly between 0 and 1, got '2'"),
        (["train", "a", "--model", "m", "--seed", "-1"], "--seed: expected a whole number of at"),
    ],
)
def test_wrong_arguments_have_status_two(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "usage" in error
    assert message in error


def test_help_is_a_page_with_examples():
    done = subprocess.run(
        [sys.executable, "-m", "leml_solver", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "examples:" in done.stdout
    for command in ("train", "evaluate", "predict"):
        assert f"python -m leml_solver {command}" in done.stdout


def test_bibtex_from_end_to_end(data_file, tmp_path, capsys):
    path = data_file("bibtex")
    fast = ["--rank", "20", "--penalty", "10", "--iterations", "3", "--no-certificate", "--quiet"]
    assert run("train", path, "--model", tmp_path / "m", *fast) == 0
    assert "4880 (train_idx)" in capsys.readouterr().out
    assert run("evaluate", tmp_path / "m", path) == 0
    table = capsys.readouterr().out
    # the constant predictor has top-1 of 15.8 %, the paper's rank-32 row 58.3 %
    assert float(re.search(r"top-1 accuracy +([\d.]+)", table).group(1)) > 40


def test_names_and_probabilities(files, tmp_path, capsysbinary):
    names = tmp_path / "names.txt"
    names.write_text("red wine\nwhite wine\nbeer\nwater\n")
    options = ["--loss", "logistic", "--label-names", names, "--quiet"]
    assert run("train", files / "data.npz", "--model", tmp_path / "named", *options) == 0
    capsysbinary.readouterr()
    predict = ["predict", tmp_path / "named", files / "data.npz", "--top", "2"]
    assert run(*predict) == 0
    numbers = capsysbinary.readouterr().out.decode().splitlines()
    assert run(*predict, "--names", "--probabilities") == 0
    named = capsysbinary.readouterr().out.decode().splitlines()
    labels = names.read_text().splitlines()
    for numbered, line in zip(numbers, named, strict=True):
        for pair, shown in zip(numbered.split(" "), line.split("\t"), strict=True):
            label, score = pair.split(":")
            name, probability = shown.split(":")
            assert name == labels[int(label)]
            # scores and probabilities are printed with six digits
            assert float(probability) == pytest.approx(1 / (1 + np.exp(-float(score))), rel=1e-5)


def test_names_of_the_data_are_kept(files, tmp_path, capsys):
    model = tmp_path / "model"
    assert run("train", files / "data.arff", "--labels", 4, "--model", model, "--quiet") == 0
    assert list(load_model(model).label_names_) == ["y0", "y1", "y2", "y3"]


def test_evaluate_prints_every_metric(files, capsys):
    assert run("evaluate", files / "model", files / "data.npz") == 0
    table = capsys.readouterr().out
    for name in ("recall at 3", "nDCG at 3", "macro AUC", "micro F1", "macro F1"):
        assert re.search(rf"^{name} +[\d.]+", table, re.MULTILINE), name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "{zero}", "--model", "{out}"], "pass --zero-based"),
        (["train", "{npz}", "--model", "{out}", "--label-names", "{zero}"], "expected 4 names"),
        (["predict", "{model}", "{npz}", "--names"], "train with --label-names"),
        (["predict", "{model}", "{npz}", "--probabilities"], "needs --loss logistic"),
        (["evaluate", "{model}", "{npz}", "--top", "9"], "--top must be at most"),
        (["train", "{npz}", "--model", "{out}", "--penalty", "-1"], "--penalty must be positive"),
        (["train", "{npz}", "--model", "{out}", "--tol", "-1"], "--tol must not be negative"),
    ],
)
def test_errors_speak_of_the_command(files, tmp_path, capsys, arguments, message):
    zero = tmp_path / "zero.svm"
    zero.write_text("1 0:0.5\n0 1:2\n")
    places = {
        "zero": zero,
        "npz": files / "data.npz",
        "model": files / "model",
        "out": tmp_path / "o",
    }
    assert run(*(argument.format(**places) for argument in arguments)) == 2
    assert message in capsys.readouterr().err


def test_settings_follow_the_data_or_cross_validation(files, tmp_path, capsys):
    for more in ([], ["--cv"]):
        where = tmp_path / f"model{len(more)}"
        assert run("train", files / "data.npz", "--model", where, "--quiet", *more) == 0
        printed = float(re.search(r"^penalty +(\S+)$", capsys.readouterr().out, re.MULTILINE)[1])
        assert printed == pytest.approx(load_model(where).penalty_, rel=1e-3)  # four digits
    assert run("train", files / "data.npz", "--model", tmp_path / "x", "--cv", "--penalty", 1) == 2
    assert "leave out --penalty" in capsys.readouterr().err
    between = tmp_path / "between.svm"  # class 1 lies between the others
    between.write_text("".join(f"{i % 3} 1:{i % 3 + i % 7 / 20}\n" for i in range(300)))
    for loss, more in (("squared", []), ("logistic", ["--cv"])):
        assert run("train", between, "--model", tmp_path / loss, "--quiet", *more) == 0
        assert load_model(tmp_path / loss).loss == loss


def test_notes_and_status_speak_of_the_command(files, tmp_path, capsys):
    few = ["--iterations", "20", "--tol", "1e-14", "--penalty", "0.01", "--loss", "logistic"]
    assert run("train", files / "data.npz", "--model", tmp_path / "m", "--quiet", *few) == 0
    printed = capsys.readouterr()
    assert "raise --iterations, or set --tol 0 if exactly" in printed.err
    assert "after --iterations iterations: use" in printed.out
