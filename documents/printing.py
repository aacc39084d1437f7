"""The one way to a PDF: Markdown becomes an HTML page, which headless Chromium prints."""

import base64
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from safe_files import written_aside

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SUFFIXES = (".md", ".html", ".pdf")
_SECONDS = 120
_STYLE = """
@page { size: A4; margin: 18mm 20mm; }
body { font: 9.5pt/1.35 "DejaVu Serif", Georgia, serif; color: #111; }
@media screen { body { max-width: 52em; margin: 1em auto; padding: 0 1em; } }
h1 { font-size: 15pt; margin: 0 0 .5em; }
h2 { font-size: 13pt; margin: 1.4em 0 .5em; border-bottom: 1px solid #999; break-after: avoid; }
h3 { font-size: 10.5pt; margin: 1.2em 0 .3em; break-after: avoid; }
p, ul, ol { margin: .35em 0; }
li { margin: .15em 0; }
table { border-collapse: collapse; margin: .6em 0; }
th, td { border: 1px solid #bbb; padding: .1em .6em; text-align: left; }
img { max-width: 80%; display: block; margin: auto; }
pre, img, table { break-inside: avoid; }
pre { white-space: pre-wrap; }
"""


def html_page(markdown: str, title: str) -> str:
    """Return Markdown, with tables, as an HTML page that needs no other file but its pictures."""
    import html

    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    return f"<!doctype html>\n<html><head>{head}</head>\n<body>\n{body}</body></html>\n"


def _with_pictures(page: str, folder: Path) -> str:
    """Return a page with the PNG pictures of a folder put into it."""

    def embedded(found: re.Match[str]) -> str:
        data = base64.b64encode((folder / found.group(1)).read_bytes()).decode()
        return f'src="data:image/png;base64,{data}"'

    return re.sub(r'src="([\w.-]+\.png)"', embedded, page)


def check_target(path: str | Path) -> Path:
    """Return the path of a document that can be written: Markdown, HTML, or PDF with a browser.

    Raises
    ------
    ValueError
        If the name does not end in '.md', '.html' or '.pdf', or its folder cannot be written to.
    FileNotFoundError
        If a PDF is asked for and no browser is installed.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise ValueError(f"a document must be named *.md, *.html or *.pdf, got {str(path)!r}.")
    if not target.parent.is_dir():
        raise ValueError(f"{str(target.parent)!r} is not a folder; make it first.")
    if not os.access(target.parent, os.W_OK):
        raise ValueError(f"{str(target.parent)!r} cannot be written to; choose another folder.")
    if target.suffix == ".pdf":
        _browser()
    return target


def write_document(
    markdown: str, path: str | Path, *, title: str, pictures: Path | None = None
) -> Path:
    """Write Markdown as it is, as HTML or as PDF, by the ending of the name, and return the path.

    Pictures that the text names are put into the page from the folder `pictures`, if one is given.
    """
    target = check_target(path)
    content = markdown
    if target.suffix != ".md":
        page = html_page(markdown, title)
        content = page if pictures is None else _with_pictures(page, pictures)
    written = _printed(content) if target.suffix == ".pdf" else content.encode()
    with written_aside(target) as file:
        file.write(written)
    return target


def _browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FileNotFoundError(
            f"a PDF is printed by Chromium, and none of {', '.join(BROWSERS)} was found; install "
            "one, or write a file named *.md."
        )
    return found


def _printed(page: str) -> bytes:
    """Return an HTML page as PDF, printed with a browser profile that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        source, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        command = [
            _browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={printed}",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise OSError(f"{command[0]} did not print the page in {_SECONDS} s.") from None
        if not printed.is_file():
            raise OSError(f"{command[0]} did not print the page: {done.stderr.strip()[-300:]}")
        return printed.read_bytes()
