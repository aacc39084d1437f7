"""The pages made at each build: the reference, the paper's statements, commands, benchmarks."""

import runpy

from making import benchmarks, commands, reference, statements
from making.text import DOCS, OUT, ROOT, write

# Pages that other pages list; the rest is listed under More.
LISTED = {"index", "api", "architecture", "compare", "definitions", "extending", "glossary"}
LISTED |= {"predictions_table"}


def write_all(app, config):
    """Write every generated page; a page that has not changed is left alone."""
    pages = {**reference.api_pages(), **commands.command_pages(), **more_pages()}
    pages |= statements.statement_pages(statements.results())
    pages["benchmarks.md"] = benchmarks.benchmarks_page()
    runpy.run_path(str(DOCS / "lectures" / "build.py"))["draw_figures"](OUT / "lectures")
    for name, text in pages.items():
        write(OUT / name, text)
    for path in (*OUT.glob("api/*"), *OUT.glob("statements/*")):
        if path.relative_to(OUT).as_posix() not in pages:
            path.unlink()  # of something that has gone


def more_pages():
    """Return the page that lists what stands by itself, and files of the project as pages."""
    pages = {}
    for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY"):
        if (ROOT / f"{name}.md").is_file():
            text = f"```{{include}} ../../{name}.md\n:relative-docs: docs/\n```\n"
            pages[f"{name.lower()}.md"] = text
    written = ["../compare", "benchmarks", "../architecture"]
    extra = sorted({p.stem for p in DOCS.glob("*.md")} - LISTED)
    extra = [name for name in extra if not name.startswith("theory")]
    lines = [*written, *(f"../{name}" for name in extra), *(p[:-3] for p in pages)]
    text = "\n".join(["# More", "", "```{toctree}", ":maxdepth: 1", "", *lines, "```", ""])
    course = [
        "# The course",
        "",
        "```{include} ../../assignments/README.md",
        ":start-line: 1",
        "```",
        "",
    ]
    lectures = {f"lectures/{p.name}": p.read_text() for p in (DOCS / "lectures").glob("*.md")}
    course += ["## Lectures", "", "```{toctree}", ":maxdepth: 1", "", *sorted(lectures), "```", ""]
    return {**pages, **lectures, "more.md": text, "course.md": "\n".join(course)}
