"""Records what Salt makes of events over max_event_size: run with a release's Python, prints trim.json.

/opt/salt-venvs/3007/bin/python test/vectors/made/trim.py > test/vectors/trim.json
"""
import base64
import json
import sys

import salt.utils.event
import salt.version

LONG = "x" * 300
CASES = [
    ("under the maximum", 1000, {"a": "b", "c": "x" * 100}),
    ("exactly one object over", 200, {"a": "b", "c": "x" * 168}),
    ("one large value", 100, {"a": "b", "c": "x" * 10000}),
    ("large value nested", 400, {"id": "m1", "return": {"out": LONG, "code": 0, "deep": {"err": LONG, "ok": True}}}),
    ("two passes", 1000, {"first": "x" * 450, "second": "y" * 420, "third": "z" * 300}),
    ("several passes", 1000, {str(index): "x" * (40 * index) for index in range(1, 12)}),
    ("list is measured by its slots", 500, {"id": "m1", "return": [LONG, LONG, LONG]}),
    ("long list", 500, {"id": "m1", "return": list(range(400))}),
    ("bytes", 500, {"id": "m1", "return": b"\xff\xfe" * 300}),
    ("latin text", 500, {"id": "m1", "return": "\u00e9" * 150, "x": "y" * 260}),
    ("latin text in a later pass", 1000, {"id": "m1", "return": "\u00e9" * 180, "x": "y" * 460, "z": "w" * 300}),
    ("wide text", 600, {"id": "m1", "return": "\u4e16" * 150, "x": "y" * 200}),
    ("emoji", 600, {"id": "m1", "return": "\U0001f600" * 80, "x": "y" * 280}),
    ("mixed widths", 600, {"id": "m1", "return": "ab\u00e9" * 50 + "\u4e16", "x": "y" * 280, "z": "\u00e9" * 90}),
    ("nothing can be trimmed", 300, {str(index): index for index in range(100)}),
    ("many small texts stay", 300, {str(index): "v" for index in range(100)}),
    ("trimmed to nothing but keys", 260, {"k" * 10 + str(index): "x" * 30 for index in range(30)}),
    ("floats, nil and long ints", 60, {"a": 1.5, "b": None, "c": 2**40, "d": LONG, 1: "x"}),
    ("empty containers", 120, {"a": {}, "b": [], "c": "x" * 100}),
    ("state return", 900, {"return": {"a_|-b": {"comment": LONG, "changes": {"diff": LONG, "old": LONG}}}, "retcode": 0}),
]


def main():
    cases = []
    for name, limit, data in CASES:
        whole = salt.utils.event.SaltEvent.pack("some/tag", data)
        trimmed = salt.utils.event.SaltEvent.pack("some/tag", data, max_size=limit)
        cases.append(
            {
                "name": name,
                "max_event_size": limit,
                "body_b64": base64.b64encode(whole).decode(),
                "trimmed_b64": base64.b64encode(trimmed).decode(),
            }
        )
    about = {"recorded_with": "salt " + salt.version.__version__, "python": sys.version.split()[0], "cases": cases}
    json.dump(about, sys.stdout, indent=1)
    print()


main()
