"""Options and TOML files that describe a grid, read by the same rules into one specification."""

import argparse
import tomllib
from collections.abc import Callable
from typing import Any

from command_line import numbers, whole_number, whole_numbers, words
from leml_solver.losses import LOSSES
from leml_theory.sweep.experiments.custom import AXES, DEFAULTS, WORLDS, Grid
from leml_theory.worlds import LAWS
from safe_files import read_whole

PICTURE = ("x", "y", "hue", "panel")  # how a grid is drawn, which may change after it is measured
_LARGEST = 2**60  # points whose binomial counts still are 64-bit numbers

Reader = Callable[[str], Any]


def _share(text: str) -> float:
    """Read a relative standard error such as 2% or 0.02."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 1e-4 <= share <= 0.5:
        raise argparse.ArgumentTypeError(f"expected a share from 0.01% to 50%, got {text!r}")
    return share


def _options() -> dict[str, tuple[Reader, str, str]]:
    """Return how every option is read, what its value is called, and its help."""
    sizes = whole_numbers(1, _LARGEST)
    radius = "radius of the ball (default 1), in units of the true Z's norm where there is one"
    seen = "uniform (default), replaced (with replacement), heavy:SHARE or zipf:EXPONENT"
    worlds = f"labels and risk: {', '.join(WORLDS)}, rank-K, planted:RHO (default averages)"
    precise = "draw until standard errors are this share of the values, instead of a fixed number"
    draws = "draws per cell (default 50), or in the first batch with --precision (default 20)"
    share = "share of labels observed, each with this probability, instead of --s and --skew"
    return {
        "n": (sizes, "N,...", "points, such as 256,1e6 (default 256,1024,4096)"),
        "d": (sizes, "D,...", "features (default 32)"),
        "L": (sizes, "L,...", "labels (default 32)"),
        "s": (sizes, "S,...", "labels seen per point (default 1)"),
        "skew": (words, "P,...", seen),
        "observed": (numbers(1e-6, 1.0), "SHARE,...", share),
        "radius": (numbers(1e-6, 1e6), "R,...", radius),
        "law": (words, "NAME,...", f"features: {', '.join(LAWS)} (default gaussian)"),
        "world": (words, "NAME,...", worlds),
        "loss": (words, "NAME,...", f"{', '.join(LOSSES)} (default: the world's own)"),
        "solver": (words, "NAME,...", "exact, leml or both (default exact)"),
        "rank": (sizes, "K,...", "rank of LEML (default 4)"),
        "draws": (whole_number(), "T", draws),
        "precision": (_share, "SHARE", precise),
        "x": (str, "AXIS", "horizontal axis (default: the longest axis of numbers)"),
        "y": (str, "AXIS", "vertical axis of a heat map, instead of curves"),
        "hue": (str, "AXIS", "what the colours show (default: ball)"),
        "panel": (str, "AXIS", "what the panels show (default: all axes that are left)"),
    }


def add_grid_options(add: Callable[..., object]) -> None:
    """Add the options of a grid, and the file that may hold them."""
    text = "TOML file with these options as keys, such as L = [8, 64]; options given here win"
    add("--grid", metavar="FILE", help=text)
    for name, (reader, metavar, help_text) in _options().items():
        more = {"choices": (*AXES, "ball")} if name in PICTURE else {}
        add(f"--{name}", type=reader, metavar=metavar, help=help_text.replace("%", "%%"), **more)


def grid_of(options: argparse.Namespace) -> Grid | None:
    """Return the grid that a file and options describe, None when none was asked for."""
    read = _from_file(options.grid) if options.grid else {}
    given = {name: getattr(options, name) for name in _options()}
    read |= {name: value for name, value in given.items() if value is not None}
    if not options.grid and not set(read) - set(PICTURE):
        return None
    if observed := read.pop("observed", None):
        if "s" in read or "skew" in read:
            raise ValueError("--observed says which labels are seen; leave out --s and --skew.")
        read["skew"] = [f"observed:{share:g}" for share in observed]
    return Grid(read)


def _from_file(path: str) -> dict[str, Any]:
    """Read a TOML file; its values are read as those of the options are."""
    known = _options()
    try:
        content = tomllib.loads(read_whole(path).decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"`{path}` is not a TOML file: {error}") from error
    found = {}
    for name, value in content.items():
        if name not in known:
            raise ValueError(f"`{path}`: no key {name!r}; there are {', '.join(known)}.")
        texts = [str(item) for item in (value if isinstance(value, list) else [value])]
        try:
            found[name] = known[name][0](",".join(texts))
        except argparse.ArgumentTypeError as error:
            raise ValueError(f"`{path}`: {name}: {error}.") from None
    return found


def toml_lines(spec: dict[str, Any]) -> list[str]:
    """Return a specification as the lines of a TOML file that describes the same grid."""
    return [f"{name} = {_toml(spec[name])}" for name in DEFAULTS if spec.get(name)]


def _toml(value: Any) -> str:
    """Return a number, a text or a list of these as TOML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return f'"{value}"' if isinstance(value, str) else repr(value)
