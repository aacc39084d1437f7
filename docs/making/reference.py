"""The reference: one page for each package and each public module, from docstrings."""

import importlib
import inspect
import pkgutil
import re
import typing

from making.docstrings import escaped
from making.text import ROOT

# Modules that are no part of the interface; the statements have pages of their own.
HIDDEN = {"paper_checks.statements", "paper_checks.worlds", "paper_checks.reproduction"}
PACKAGES = ("simulations", "leml_solver", "leml_theory", "paper_checks")


def modules(package):
    """Return the public modules of a package, in alphabetical order."""
    found = pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}.")
    names = [m.name for m in found if "._" not in m.name and m.name not in HIDDEN]
    return sorted([*names, *(["leml_theory.sweep.experiments"] if "theory" in package else [])])


def api_pages():
    """Return the pages of the reference: an index, and one page for each package and module."""
    pages = {}
    for package in PACKAGES:
        exported = getattr(importlib.import_module(package), "__all__", [])
        pages[f"api/{package}.rst"] = _package_page(package, exported)
        for name in modules(package):
            pages[f"api/{name}.rst"] = _module_page(name, package, exported)
    return pages


def public_names(name):
    """Return the public names of a module: its `__all__`, or what is defined in it."""
    module = importlib.import_module(name)
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = (n for n, v in vars(module).items() if getattr(v, "__module__", "") == name)
    return [n for n in own if not n.startswith("_")]


def _package_page(package, exported):
    """Return a package's page: its docstring, its exports, then its modules."""
    title = f"{package}\n{'=' * len(package)}\n\n.. automodule:: {package}\n\n"
    names = modules(package)
    toctree = "\n".join(
        ["Modules", "-------", "", _table(names, _one_line_of_module, _module_link)]
    )
    toctree += "\n\n.. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in names)
    if not exported:
        return title + toctree
    overview = _table([f"{package}.{n}" for n in exported], _one_line, _object_link)
    return title + overview + "\n\n" + toctree + "\n" + _entries(package, exported)


def _module_page(name, package, exported):
    """Return a module's page; what its package exports is linked to, not said twice."""
    names = public_names(name)
    shared = [n for n in names if n in exported]
    own = [n for n in names if n not in exported]
    page = f"{name}\n{'=' * len(name)}\n\n.. automodule:: {name}\n\n"
    if own:
        page += _table([f"{name}.{n}" for n in own], _one_line, _object_link) + "\n\n"
    if shared:
        links = ", ".join(f":py:obj:`~{package}.{n}`" for n in shared)
        page += f"On the page of :doc:`{package} <{package}>`: {links}.\n\n"
    return page + _entries(name, own)


def _is_class(value):
    """Whether a value is a class, and not an alias such as dict[str, Any]."""
    return inspect.isclass(value) and typing.get_origin(value) is None


def _entries(module, names):
    """Return the directives that document names, classes first."""
    found = importlib.import_module(module)
    values = {name: getattr(found, name) for name in names}
    groups = {
        "Classes": [n for n, v in values.items() if _is_class(v)],
        "Functions": [n for n, v in values.items() if inspect.isroutine(v)],
    }
    rest = [n for n in names if not any(n in group for group in groups.values())]
    groups["Constants and tables"] = rest
    parts = []
    for title, group in groups.items():
        if group:
            parts += [title, "-" * len(title), ""]
            parts += [_entry(f"{module}.{name}", values[name]) for name in group]
    return "\n".join(parts)


def _entry(path, value):
    """Return the directive that documents one name."""
    if _is_class(value):
        return f".. autoclass:: {path}\n   :members:\n"
    if inspect.isroutine(value):
        return f".. autofunction:: {path}\n"
    if _holds_text(value):  # an object whose own docstring says what it is
        return f".. autodata:: {path}\n   :no-value:\n"
    return f".. py:data:: {path}\n\n   {_one_line(path)}\n"


def _holds_text(value):
    """Whether an object has a docstring that is not that of its type."""
    alias = typing.get_origin(value) is not None
    return not alias and bool(value.__doc__) and value.__doc__ != type(value).__doc__


def _table(paths, line, link):
    """Return a table of names, each with a line on what it is."""
    rows = "".join(f"   * - {link(path)}\n     - {line(path)}\n" for path in paths)
    return f".. list-table::\n   :widths: 30 70\n\n{rows}"


def _object_link(path):
    return f":py:obj:`{path.rsplit('.', 1)[1]} <{path}>`"


def _module_link(path):
    return f":doc:`{path} <{path}>`"


def _one_line_of_module(path):
    return _first_line(importlib.import_module(path).__doc__)


def _one_line(path):
    """Return what a name is: the first line of its docstring, or the comment before it."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    if _is_class(value) or inspect.isroutine(value) or _holds_text(value):
        return _first_line(value.__doc__)
    return _comment(value, module, name)


def _comment(value, module, name):
    """Return the comment above the definition of a plain value, from wherever it is defined."""
    package = module.split(".")[0]
    pattern = re.compile(rf"((?:^#[^\n]*\n)+){name}\b[^=\n]*=(?!=)", re.MULTILINE)
    for path in sorted((ROOT / package).rglob("*.py")):
        if found := pattern.search(path.read_text()):
            words = " ".join(line.lstrip("# ") for line in found.group(1).splitlines())
            return escaped(words[:1].upper() + words[1:].rstrip(".") + ".")
    if typing.get_origin(value) is not None:
        return f"Short for ``{re.sub(chr(92) + 'b(?:[a-z_]+[.])+', '', str(value))}``."
    if isinstance(value, dict):
        keys = [f"``{key}``" for key in value]
        return f"Table by name: {', '.join(keys[:8])}{', and so on' if len(keys) > 8 else ''}."
    plain = isinstance(value, int | float | str | tuple)
    return f"``{value!r}``." if plain else f"A ``{type(value).__name__}``."


def _first_line(text):
    """Return the first paragraph of a docstring, in which marks are text."""
    return escaped(" ".join(inspect.cleandoc(text or "").split("\n\n")[0].split()))
