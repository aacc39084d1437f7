"""Documents: Markdown becomes HTML, and PDF where a browser is installed."""

import re
import shutil

import pytest

from documents import check_target, html_page, write_document
from documents.printing import BROWSERS

needs_browser = pytest.mark.skipif(
    not any(map(shutil.which, BROWSERS)), reason=f"none of {', '.join(BROWSERS)} is installed"
)


def pages(path):
    """Count the pages of a PDF."""
    return len(re.findall(rb"/Type\s*/Page[^s]", path.read_bytes()))


def test_a_page_has_its_title_tables_and_no_raw_html():
    page = html_page(
        "# A & B\n\n| a | b |\n|---|---|\n| 1 | <Z, V> |\n\n<script>x</script>", "A & B"
    )
    assert "<title>A &amp; B</title>" in page
    assert "<h1>A &amp; B</h1>" in page
    assert "<td>&lt;Z, V&gt;</td>" in page
    assert "<script>" not in page


def test_markdown_is_written_as_it_is(tmp_path):
    path = write_document("# Title\n", tmp_path / "a.md", title="Title")
    assert path.read_text() == "# Title\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.md"]


@pytest.mark.parametrize(
    ("name", "message"), [("a.txt", "must be named"), ("none/a.md", "is not a folder")]
)
def test_targets_that_cannot_be_written_are_refused(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        check_target(tmp_path / name)


def test_a_folder_that_cannot_be_written_to_is_refused_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr("documents.printing.os.access", lambda folder, _: folder != tmp_path)
    with pytest.raises(ValueError, match="cannot be written to; choose another folder"):
        check_target(tmp_path / "a.md")


def test_the_file_aside_of_another_run_is_left_alone(tmp_path):
    (tmp_path / ".a.md.part").write_text("of another run")
    write_document("text", tmp_path / "a.md", title="Title")
    assert (tmp_path / ".a.md.part").read_text() == "of another run"


def test_without_a_browser_a_pdf_is_refused_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("documents.printing.shutil.which", lambda name: None)
    with pytest.raises(FileNotFoundError, match=r"install one, or write a file named \*\.md"):
        write_document("text", tmp_path / "a.pdf", title="Title")
    assert not list(tmp_path.iterdir())


def test_a_browser_that_prints_nothing_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("documents.printing.shutil.which", lambda name: shutil.__file__)
    monkeypatch.setattr("documents.printing.subprocess.run", lambda *a, **k: Failed)
    with pytest.raises(OSError, match="did not print the page: no display"):
        write_document("text", tmp_path / "a.pdf", title="Title")


class Failed:
    """What a browser that fails leaves behind."""

    stderr = "no display"


@needs_browser
def test_a_pdf_has_as_many_pages_as_its_text_needs(tmp_path):
    short = write_document("# One\n\ntext", tmp_path / "short.pdf", title="One")
    long = write_document("# Many\n\n" + "text\n\n" * 200, tmp_path / "long.pdf", title="Many")
    assert short.read_bytes().startswith(b"%PDF")
    assert pages(short) == 1 < pages(long)
