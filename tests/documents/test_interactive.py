"""Pages in one file: what their data hold stays text, and nothing is asked of anybody."""

import base64
import hashlib
import json
import math
import re

from documents import interactive_page

EVIL = "</script><script>document.title='taken'</script><!-- & \u2028"


def built(data, script=""):
    return interactive_page("A <b> & B", data, body="<main></main>", scripts=[script])


def test_data_come_back_as_they_were_and_hold_no_markup():
    page = built({"a": [EVIL, 1.5, None, math.inf, float("nan")], EVIL: {"b": True}})
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1]
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"a": [EVIL, 1.5, None, None, None], EVIL: {"b": True}}
    assert "<title>A &lt;b&gt; &amp; B</title>" in page


def test_the_policy_names_the_script_and_the_style_of_the_page():
    page = built({}, "window.mine = 1;")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    parts = {"script": r"<script>(.*?)</script>", "style": r"<style>(.*?)</style>"}
    for name, pattern in parts.items():
        found = re.findall(pattern, page, re.S)
        assert len(found) == 1
        digest = base64.b64encode(hashlib.sha256(found[0].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "window.mine = 1;" in page
    assert policy.startswith("default-src 'none';")
