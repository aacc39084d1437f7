"""Formulas of docstrings as MathML, which browsers draw themselves: no script, no other host."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def mathml(text, *, as_block=False):
    """Return a formula as MathML."""
    return tex2mathml(text.replace(r"\dots", r"\ldots"), as_block=as_block)


def inline(self, node):
    """Write a formula in a line, and no end of it: nothing is left to visit."""
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(self, node):
    """Write a formula on a line of its own."""
    self.body.append(mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def nothing(self, node):
    """Write nothing at the end of a formula."""


def plain_pictures(gallery_conf, name):
    """Give every example the same plain style, and close its figures."""
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.rcdefaults()
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 4.0),
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )


def setup(app):
    """Make MathML known to Sphinx."""
    app.add_html_math_renderer("mathml", (inline, nothing), (block, nothing))
