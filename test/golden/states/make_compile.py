"""
Records what Salt's state compiler makes of small file trees. Run it with the Python of a virtual environment that has Salt 3007:

    python make_compile.py > compile.json

Each case has files by environment, and calls of `state.*` with their results.
"""

import json
import os
import shutil
import sys
import tempfile

import salt.client
import salt.config
import salt.version

REQUISITES = """
first:
  test.succeed_with_changes:
    - require_in:
      - test: second
      - third
    - watch_in:
      - test: third
second:
  test.nop:
    - name: other
    - onchanges_in:
      - test: fourth
third:
  test.succeed_without_changes:
    - onfail_in:
      - test: fifth
    - prereq:
      - test: fourth
fourth:
  test.nop:
    - require:
      - test: other
fifth:
  test.nop:
    - prereq_in:
      - test: first
    - listen:
      - test: first
"""

CASES = [
    (
        "order",
        {
            "a.sls": "one:\n  test.nop\ntwo:\n  test.nop:\n    - order: last\nthree:\n  test.nop:\n    - order: first\n"
            "four:\n  test.nop:\n    - order: 3\nfive:\n  test.nop:\n    - order: -2\nsix: test.nop\n"
            "seven:\n  test:\n    - nop\n    - order: 7.5\neight:\n  test.nop:\n    - order: what\n"
        },
        [("show_low_sls", "a"), ("show_sls", "a")],
    ),
    (
        "names",
        {
            "a.sls": "many:\n  test.configurable_test_state:\n    - names:\n      - x\n      - y:\n        - changes: False\n"
            "        - result: True\n      - x\n      - z: []\n    - result: False\n"
            "named:\n  test.nop:\n    - name: [1, 2]\n    - state: other\n"
        },
        [("show_low_sls", "a")],
    ),
    ("requisites", {"a.sls": REQUISITES, "top.sls": "base:\n  '*':\n    - a\n"}, [("show_lowstate",), ("show_highstate",)]),
    (
        "use",
        {
            "top.sls": "base:\n  '*':\n    - a\n",
            "a.sls": "base:\n  test.configurable_test_state:\n    - changes: True\n    - result: True\n    - comment: hello\n    - require:\n      - test: z\n"
            "b:\n  test.configurable_test_state:\n    - result: False\n    - use:\n      - test: base\n"
            "c:\n  test.configurable_test_state:\n    - comment: mine\n    - use_in:\n      - test: d\nd:\n  test.nop\nz:\n  test.nop\n",
        },
        [("show_lowstate",)],
    ),
    (
        "extend and exclude",
        {
            "top.sls": "base:\n  '*':\n    - b\n    - c\n",
            "a.sls": "x:\n  test.nop:\n    - name: xname\n    - require:\n      - test: y\ny:\n  test.nop:\n    - names: [p, q]\nw: test.nop\n",
            "b.sls": "include:\n  - a\nextend:\n  x:\n    test:\n      - succeed_with_changes\n      - require:\n        - test: v\n      - comment: new\n"
            "  y:\n    test:\n      - name: only\nv:\n  test.nop\nexclude:\n  - id: w\n",
            "c.sls": "include:\n  - d\nexclude:\n  - sls: d\n  - e*\nc:\n  test.nop\n",
            "d.sls": "fromd:\n  test.nop\n",
        },
        [("show_lowstate",), ("show_highstate",), ("show_sls", "b"), ("show_low_sls", "b,c")],
    ),
    (
        "includes",
        {
            "top.sls": "base:\n  '*':\n    - web\n    - db.*\n",
            "web/init.sls": "include:\n  - .conf\n  - ..shared\n  - db.server\nweb:\n  test.nop:\n    - require:\n      - sls: web.conf\n",
            "web/conf.sls": "include:\n  - web\nconf:\n  test.nop\n",
            "shared.sls": "shared:\n  test.nop\n",
            "db/init.sls": "db:\n  test.nop\n",
            "db/server.sls": "include:\n  - .client\ndbserver:\n  test.nop\n",
            "db/client.sls": "dbclient:\n  test.nop:\n    - require_in:\n      - sls: db.server\n",
        },
        [("show_lowstate",), ("show_highstate",), ("show_top",), ("show_sls", "web"), ("sls_exists", "web"), ("id_exists", "web", "web"), ("show_states",)],
    ),
    (
        "include faults",
        {
            "a.sls": "include:\n  - nothere\n  - ...far\n  - dev: other\n  - nowhere: x\n  - _xenv: b\nx:\n  test.nop\n",
            "b.sls": "include: text\nb:\n  test.nop\n",
            "c.sls": "- a\n- list\n",
            "d.sls": "extend:\n  - a\nd:\n  test.nop\n",
            "e.sls": "extend:\n  missing:\n    test:\n      - name: x\n  bad: text\ne:\n  test.nop\n",
            "dev/other.sls": "other:\n  test.nop\n",
        },
        [("show_sls", "a"), ("show_sls", "b"), ("show_sls", "c"), ("show_sls", "d"), ("show_sls", "e"), ("show_sls", "none"), ("show_sls", "none,b"), ("sls_exists", "none")],
    ),
    (
        "conflict",
        {"a.sls": "include:\n  - b\nx:\n  test.nop\n", "b.sls": "x:\n  test.nop:\n    - name: other\n", "top.sls": "base:\n  '*':\n    - a\n    - b\n"},
        [("show_sls", "a"), ("show_sls", "a,b"), ("show_highstate",), ("show_lowstate",)],
    ),
    (
        "faults of form",
        {
            "a.sls": "1:\n  test.nop\nx: text\ny:\n  test.nop:\n  cmd: text\nz:\n  test:\n    - nop\n    - succeed_with_changes\nw:\n  test:\n    - name: a\n"
            "v:\n  test.nop:\n    - require: text\n    - names: text\n    - watch:\n      - [a]\n      - test: [b]\n      - a.b: c\n      - text\n"
            "u:\n  test.nop:\n    - require:\n      - test: t\n      two: 2\nt:\n  test.nop:\n    - require:\n      - test: u\n"
            "s:\n  test.nop with blank: []\nr:\n  test.nop:\n    - a b\nq:\n  test.nop: []\n  test.succeed_with_changes: []\n",
        },
        [("show_sls", "a"), ("show_low_sls", "a")],
    ),
    (
        "requisite faults",
        {
            "top.sls": "base:\n  '*':\n    - a\n",
            "a.sls": "a:\n  test.nop:\n    - require_in:\n      - test.x: b\n      - test: missing\n    - watch_in:\n        test.y: c\nb:\n  test.nop\nc:\n  test.nop\n",
        },
        [("show_lowstate",), ("show_highstate",), ("show_low_sls", "a")],
    ),
    (
        "jinja",
        {
            "lib/map.jinja": "{% macro name(x) %}m-{{ x }}{% endmacro %}\n{% set value = salt['grains.get']('id') %}\n",
            "lib/part.jinja": "    - comment: part {{ tpldir }} {{ sls }}\n",
            "lib/init.sls": "{% from 'lib/map.jinja' import name, value with context %}\n{% from tpldir ~ '/map.jinja' import name as n %}\n{{ name('x') }}:\n  test.nop:\n    - value: {{ value }}\n    - n: {{ n(1) }}\n"
            "{% include 'lib/part.jinja' %}\n    - at: {{ sls }} {{ slspath }} {{ tplfile }} {{ tpldot }} {{ slsdotpath }} {{ slscolonpath }} {{ sls_path }} {{ saltenv }}\n    - os: {{ grains['id'] }}\n    - echo: {{ salt['test.echo']('hi') }}\n    - kind: {{ opts['file_client'] }}\n",
            "json.sls": "#!jinja|json\n{\"j\": {\"test.nop\": [{\"name\": \"{{ grains.id }}\"}]}}\n",
            "empty.sls": "{# nothing #}\n",
            "blank.sls": "\n",
        },
        [("show_sls", "lib"), ("show_sls", "json"), ("show_sls", "empty"), ("show_sls", "blank"), ("show_low_sls", "empty")],
    ),
    (
        "tops",
        {
            "top.sls": "base:\n  'unit':\n    - a\n  'other':\n    - b\n  'G@id:unit':\n    - match: compound\n    - c\n    - dev: d\n  'id:unit':\n    - match: grain\n    - e\n"
            "dev:\n  '*':\n    - d\n",
            "dev/top.sls": "dev:\n  '*':\n    - ignored\nbase:\n  '*':\n    - ignored\n",
            "dev/d.sls": "include:\n  - dd\nd:\n  test.nop\n",
            "dev/dd.sls": "dd:\n  test.nop\n",
            "a.sls": "a:\n  test.nop\n",
            "c.sls": "c:\n  test.nop\n",
            "e.sls": "include:\n  - dev: dd\ne:\n  test.nop\n",
        },
        [("show_top",), ("show_highstate",), ("show_lowstate",), ("show_top", "saltenv=dev"), ("show_states",), ("show_states", "sort=False")],
    ),
    ("no top", {"a.sls": "a:\n  test.nop\n"}, [("show_top",), ("show_highstate",), ("show_lowstate",)]),
    (
        "bad top",
        {"top.sls": "base:\n  '*': a\n"},
        [("show_top",)],
    ),
]


def call(opts, fun, args):
    words = [word for word in args if "=" not in word]
    keywords = dict(word.split("=", 1) for word in args if "=" in word)
    for name, word in keywords.items():
        keywords[name] = {"False": False, "True": True}.get(word, word)
    try:
        caller = salt.client.Caller(mopts=opts)
        return caller.cmd("state." + fun, *words, **keywords)
    except Exception as error:  # the text is the record
        return {"__exception__": type(error).__name__, "text": str(error)}


def main():
    recorded = []
    for name, files, calls in CASES:
        root = tempfile.mkdtemp(prefix="states-")
        for path, text in files.items():
            env, rest = ("dev", path[4:]) if path.startswith("dev/") else ("base", path)
            full = os.path.join(root, "roots", env, rest)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        results = []
        for fun, *args in calls:
            opts = salt.config.minion_config(None)
            opts.update(
                {
                    "id": "unit",
                    "root_dir": root,
                    "cachedir": os.path.join(root, "cache"),
                    "pki_dir": os.path.join(root, "pki"),
                    "sock_dir": os.path.join(root, "run"),
                    "log_file": os.path.join(root, "log"),
                    "extension_modules": os.path.join(root, "ext"),
                    "file_client": "local",
                    "local": True,
                    "file_roots": {"base": [os.path.join(root, "roots", "base")], "dev": [os.path.join(root, "roots", "dev")]},
                    "pillar_roots": {"base": [os.path.join(root, "pillar")]},
                    "grains": {"id": "unit"},
                }
            )
            results.append({"fun": fun, "args": args, "result": call(opts, fun, args)})
        recorded.append({"name": name, "files": files, "calls": results})
        shutil.rmtree(root)
    json.dump({"salt": salt.version.__version__, "cases": recorded}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
