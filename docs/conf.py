"""How Sphinx builds the site: `make docs`, with nothing fetched from anywhere."""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import making  # noqa: E402
from making import docstrings, formulas  # noqa: E402
from sphinx_gallery.sorting import FileNameSortKey  # noqa: E402

project = "leml-theory"
author = copyright = "the leml-theory developers"
release = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]["version"]
version = release

extensions = [
    "myst_parser",  # pages in Markdown
    "sphinx.ext.autodoc",  # the reference, from docstrings
    "sphinx.ext.napoleon",  # which are numpydoc
    "sphinx_gallery.gen_gallery",  # the experiments, run as the site is built
]
# `making` writes into `generated`; a page that nobody links to is an error.
exclude_patterns = ["examples/*", "lectures/*"]  # copied, with what they need
myst_enable_extensions = ["deflist", "attrs_inline"]
myst_heading_anchors = 3
# The pages that continue theory.md begin with a heading of the second level: they are printed as
# parts of one document. The gallery's settings hold functions, which are not pickled. Words of a
# parameter's type, such as 'shape', are looked up as names, and several classes have one.
suppress_warnings = ["myst.header", "config.cache", "ref.python"]
highlight_language = "default"
default_role = "code"

autodoc_typehints = "none"  # docstrings say the types
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False
napoleon_use_ivar = True
napoleon_use_rtype = False
html_math_renderer = "mathml"

sphinx_gallery_conf = {
    "examples_dirs": ["examples"],
    "gallery_dirs": ["generated/gallery"],
    "filename_pattern": "/x",
    "within_subsection_order": FileNameSortKey,
    "abort_on_example_error": True,
    "plot_gallery": True,
    "parallel": 2,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "matplotlib_animations": False,
    "image_srcset": ["2x"],
    "reference_url": {"leml_theory": None, "leml_solver": None, "simulations": None},
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("making.formulas.plain_pictures",),
}

html_theme = "pydata_sphinx_theme"
html_title = f"leml-theory {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_depth": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}


def setup(app):
    """Write the generated pages before Sphinx looks for pages."""
    app.connect("config-inited", making.write_all, priority=1)
    app.connect("autodoc-process-docstring", docstrings.escape, priority=1)
    app.connect("autodoc-skip-member", docstrings.skip)
    formulas.setup(app)
