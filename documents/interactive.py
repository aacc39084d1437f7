"""Pages held in one file: data, script and style, with no request to any server."""

import base64
import hashlib
import html
import json
import math
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any


def interactive_page(title: str, data: Any, *, body: str, scripts: Sequence[str]) -> str:
    """Return an HTML page that shows `data`, works offline and runs no script but its own.

    A content security policy forbids every connection, and names the script and the style by their
    checksums: text in the data could not run even if it became markup.

    Parameters
    ----------
    title : str
        The title of the page.
    data : JSON values
        Read by the scripts as `Page.data`; a number that is not finite becomes null.
    body : str
        Trusted markup: the parts of the page that the scripts fill.
    scripts : sequence of str
        Run after the script that all pages share (`Page`), as one.
    """
    style = packaged("documents", "template/page.css")
    script = "\n".join([packaged("documents", "template/page.js"), *scripts])
    policy = (
        f"default-src 'none'; script-src '{_checksum(script)}'; style-src '{_checksum(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {"title": html.escape(title), "policy": policy, "style": style, "script": script}
    template = Template(packaged("documents", "template/page.html"))
    return template.substitute(parts, body=body, data=_embedded(data))


def packaged(package: str, name: str) -> str:
    """Return the text of a file that a package carries."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _checksum(text: str) -> str:
    """Return the checksum by which a policy knows a script or a style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _embedded(data: Any) -> str:
    """Return JSON that can stand inside a script element, whatever its strings hold."""
    text = json.dumps(_plain(data), separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _plain(value: Any) -> Any:
    """Return `value` with null in place of numbers that JSON does not have."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
