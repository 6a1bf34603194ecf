"""
Records what Salt's state runtime makes of small file trees. Run it with the Python of a virtual environment that has Salt 3007:

    python make_run.py > run.json

`@ROOT@` in files and results stands for the case's directory. Times are left out.
"""

import json
import os
import shutil
import sys
import tempfile

import salt.client
import salt.config
import salt.version

CASES = [
    (
        "test states",
        {
            "a.sls": "nop:\n  test.nop\nok:\n  test.succeed_without_changes\nchanged:\n  test.succeed_with_changes\nbad:\n  test.fail_without_changes\nworse:\n  test.fail_with_changes\n"
            "conf1:\n  test.configurable_test_state:\n    - changes: False\n    - result: True\n    - comment: hello\n"
            "conf2:\n  test.configurable_test_state:\n    - changes: True\n    - result: False\n    - warnings: careful\n"
            "conf3:\n  test.configurable_test_state:\n    - changes: True\n    - result: True\n    - warnings:\n      - one\n      - two\n"
            "notify:\n  test.show_notification:\n    - text: the text\n"
            "comment:\n  test.nop:\n    - comment: with comment\n"
            "bad2:\n  test.fail_without_changes:\n    - comment: my comment\n"
            "present:\n  test.check_pillar:\n    - present: [a, 'b:c']\n    - integer: n\n    - string: [s]\n    - dictionary: b\n    - listing: l\n    - boolean: t\n"
            "absent:\n  test.check_pillar:\n    - present: nothere\n    - string: n\n    - integer: [s, nope]\n",
        },
        [("apply", "a", "pillar={a: 1, b: {c: 2}, n: 3, s: text, l: [1], t: true}"), ("apply", "a", "test=True")],
    ),
    (
        "requisites",
        {
            "a.sls": "ok:\n  test.succeed_with_changes\nbad:\n  test.fail_without_changes\nnone:\n  test.nop\n"
            "needs_ok:\n  test.nop:\n    - require:\n      - test: ok\n"
            "needs_bad:\n  test.nop:\n    - require:\n      - test: bad\n"
            "needs_needs_bad:\n  test.nop:\n    - require:\n      - test: needs_bad\n"
            "needs_any:\n  test.nop:\n    - require_any:\n      - test: bad\n      - test: ok\n"
            "needs_any_bad:\n  test.nop:\n    - require_any:\n      - test: bad\n      - test: needs_bad\n"
            "needs_missing:\n  test.nop:\n    - require:\n      - test: nowhere\n      - cmd: ok\n    - watch:\n      - file: gone\n"
            "by_id:\n  test.nop:\n    - require:\n      - ok\n"
            "by_glob:\n  test.nop:\n    - require:\n      - test: o*\n"
            "by_sls:\n  test.nop:\n    - require:\n      - sls: b\n"
            "by_sls_missing:\n  test.nop:\n    - require:\n      - sls: c\n"
            "watches_ok:\n  test.succeed_without_changes:\n    - watch:\n      - test: ok\n"
            "watches_none:\n  test.succeed_without_changes:\n    - watch:\n      - test: none\n"
            "watches_changes:\n  test.succeed_with_changes:\n    - watch:\n      - test: ok\n"
            "watches_any:\n  test.succeed_without_changes:\n    - watch_any:\n      - test: none\n      - test: ok\n"
            "watches_bad:\n  test.nop:\n    - watch:\n      - test: bad\n"
            "onchanges_ok:\n  test.nop:\n    - onchanges:\n      - test: ok\n"
            "onchanges_none:\n  test.nop:\n    - onchanges:\n      - test: none\n"
            "onchanges_both:\n  test.nop:\n    - onchanges:\n      - test: none\n      - test: ok\n"
            "onchanges_any:\n  test.nop:\n    - onchanges_any:\n      - test: none\n      - test: bad\n      - test: ok\n"
            "onfail_bad:\n  test.nop:\n    - onfail:\n      - test: bad\n"
            "onfail_ok:\n  test.nop:\n    - onfail:\n      - test: ok\n"
            "onfail_both:\n  test.nop:\n    - onfail:\n      - test: ok\n      - test: bad\n"
            "onfail_any:\n  test.nop:\n    - onfail_any:\n      - test: ok\n      - test: bad\n"
            "onfail_all:\n  test.nop:\n    - onfail_all:\n      - test: ok\n      - test: bad\n"
            "late:\n  test.nop:\n    - require:\n      - test: later\n    - order: 1\nlater:\n  test.succeed_with_changes\n"
            "include:\n  - b\n  - empty\n"
            "by_empty:\n  test.nop:\n    - require:\n      - sls: empty\n",
            "b.sls": "inb:\n  test.nop\n",
            "empty.sls": "{# nothing #}\n",
        },
        [("apply", "a"), ("apply", "a", "test=True")],
    ),
    (
        "prereq and listen",
        {
            "a.sls": "before:\n  test.nop:\n    - prereq:\n      - test: changing\n"
            "not_before:\n  test.nop:\n    - prereq:\n      - test: still\n"
            "before_bad:\n  test.fail_without_changes:\n    - prereq:\n      - test: changing2\n"
            "changing:\n  test.succeed_with_changes\nstill:\n  test.succeed_without_changes\nchanging2:\n  test.succeed_with_changes\n"
            "hears:\n  test.succeed_without_changes:\n    - listen:\n      - test: changing\n"
            "hears_not:\n  test.succeed_without_changes:\n    - listen:\n      - test: still\n"
            "hears_missing:\n  test.succeed_without_changes:\n    - listen:\n      - test: nowhere\n"
            "tells:\n  test.succeed_with_changes:\n    - listen_in:\n      - test: told\ntold:\n  test.succeed_without_changes\n"
            "in:\n  test.nop:\n    - prereq_in:\n      - test: changing3\nchanging3:\n  test.succeed_with_changes\n"
            "before_missing:\n  test.nop:\n    - prereq:\n      - test: nowhere\n",
        },
        [("apply", "a"), ("apply", "a", "test=True")],
    ),
    (
        "conditions",
        {
            "a.sls": "only_true:\n  test.nop:\n    - onlyif: 'true'\nonly_false:\n  test.nop:\n    - onlyif: 'false'\nonly_list:\n  test.nop:\n    - onlyif:\n      - 'true'\n      - 'false'\n"
            "unless_true:\n  test.nop:\n    - unless: 'true'\nunless_false:\n  test.nop:\n    - unless: 'false'\nunless_list:\n  test.nop:\n    - unless:\n      - 'false'\n      - 'true'\nunless_both:\n  test.nop:\n    - unless:\n      - 'true'\n      - 'true'\n"
            "both:\n  test.nop:\n    - onlyif: 'true'\n    - unless: 'true'\n"
            "fun_true:\n  test.nop:\n    - onlyif:\n      - fun: test.true\nfun_false:\n  test.nop:\n    - onlyif:\n      - fun: test.false\n"
            "fun_args:\n  test.nop:\n    - unless:\n      - fun: test.echo\n        args: [text]\nfun_get:\n  test.nop:\n    - onlyif:\n      - fun: test.arg\n        args: [text]\n        get_return: kwargs\n"
            "fun_kw:\n  test.nop:\n    - unless:\n      - fun: test.echo\n        text: ''\nno_fun:\n  test.nop:\n    - onlyif:\n      - nofun: x\nbad_type:\n  test.nop:\n    - onlyif:\n      - 1\nbad_unless:\n  test.nop:\n    - unless:\n      - 1\n"
            "creates:\n  test.nop:\n    - creates: /etc/passwd\ncreates_list:\n  test.nop:\n    - creates: [/etc/passwd, /etc/hosts]\ncreates_not:\n  test.nop:\n    - creates: /nowhere\n"
            "check_ok:\n  test.fail_without_changes:\n    - check_cmd: 'true'\ncheck_bad:\n  test.succeed_with_changes:\n    - check_cmd:\n      - 'true'\n      - 'false'\n"
            "watch_skip:\n  test.succeed_with_changes:\n    - unless: 'true'\n    - watch:\n      - test: ch\nch:\n  test.succeed_with_changes\n"
        },
        [("apply", "a"), ("apply", "a", "test=True")],
    ),
    (
        "retry",
        {
            "a.sls": "never:\n  test.fail_without_changes:\n    - retry:\n        attempts: 3\n        interval: 0\nfirst:\n  test.nop:\n    - retry:\n        attempts: 3\n        interval: 0\n"
            "until:\n  test.nop:\n    - retry:\n        attempts: 2\n        until: False\n        interval: 0\n        splay: 0\n"
            "single:\n  test.fail_without_changes:\n    - retry: False\n",
        },
        [("apply", "a"), ("apply", "a", "test=True")],
    ),
    (
        "failhard",
        {
            "a.sls": "one:\n  test.nop\nbad:\n  test.fail_without_changes:\n    - failhard: True\nthree:\n  test.nop\n",
            "b.sls": "one:\n  test.nop:\n    - require:\n      - test: bad\nbad:\n  test.fail_without_changes:\n    - failhard: True\nthree:\n  test.nop\n",
        },
        [("apply", "a"), ("apply", "b"), ("apply", "a", "test=True")],
    ),
    (
        "faults",
        {
            "a.sls": "unknown:\n  test.nosuch\nmodule:\n  nosuch.fun\nparam:\n  test.configurable_test_state\nextra:\n  test.succeed_without_changes:\n    - unknown: 1\n    - other: 2\n"
            "umask:\n  test.nop:\n    - umask: what\nwarn:\n  test.succeed_with_changes:\n    - bogus: 1\n",
            "b.sls": "one:\n  test.nop:\n    - require:\n      - test: two\ntwo:\n  test.nop:\n    - require:\n      - test: three\nthree:\n  test.nop:\n    - require:\n      - test: one\n",
            "c.sls": "x: {{ nothing }}\n",
            "d.sls": "a:\n  test.nop:\n   - b: [\n",
            "e.sls": "- x\n",
            "f.sls": "self:\n  test.nop:\n    - require:\n      - test: self\n",
            "g.sls": "self:\n  test.nop:\n    - require:\n      - test: s*\n",
        },
        [("apply", "a"), ("apply", "b"), ("apply", "none"), ("apply", "e"), ("apply", "f"), ("apply", "g"), ("apply", ), ("highstate",)],
    ),
    (
        "runs",
        {
            "top.sls": "base:\n  '*':\n    - a\n    - b\n",
            "a.sls": "one:\n  test.nop\ntwo:\n  test.succeed_with_changes:\n    - names: [x, y]\n",
            "b.sls": "three:\n  test.nop:\n    - name: {{ pillar.get('value', 'nothing') }}\n",
            "only.sls": "bad:\n  test.fail_without_changes\nhandled:\n  test.nop:\n    - onfail:\n      - test: bad\n    - onfail_stop: False\n",
        },
        [
            ("apply",),
            ("highstate",),
            ("sls", "a,b"),
            ("sls", "b", "pillar={value: given}"),
            ("highstate", "whitelist=a"),
            ("highstate", "exclude=a"),
            ("sls", "a", "exclude=[{id: one}]"),
            ("apply", "only"),
            ("single", "test.nop", "the name"),
            ("single", "test.fail_without_changes", "name=x", "test=True"),
            ("single", "test.configurable_test_state", "x", "changes=True", "result=False", "comment=c"),
            ("single", "test.nosuch", "x"),
            ("single", "nodot", "x"),
            ("single", "test.configurable_test_state", "x", "bogus=1", "test=True"),
        ],
    ),
    ("empty top", {"top.sls": "base:\n  'other':\n    - a\n", "a.sls": "a: test.nop\n"}, [("apply",), ("highstate", "test=True")]),
    (
        "cmd",
        {
            "a.sls": "echo hello:\n  cmd.run\n"
            "fails:\n  cmd.run:\n    - name: echo out; echo err >&2; exit 3\n"
            "made:\n  cmd.run:\n    - name: echo made > @ROOT@/made\n    - creates: @ROOT@/made\n"
            "made again:\n  cmd.run:\n    - name: echo made > @ROOT@/made\n    - creates: @ROOT@/made\n"
            "only:\n  cmd.run:\n    - name: echo x\n    - onlyif: 'false'\nunless:\n  cmd.run:\n    - name: echo x\n    - unless: 'true'\n"
            "cwd:\n  cmd.run:\n    - name: pwd\n    - cwd: /tmp\nnocwd:\n  cmd.run:\n    - name: pwd\n    - cwd: /nowhere\nenv:\n  cmd.run:\n    - name: echo $A $B\n    - env:\n      - A: one\n      - B: two\n"
            "stateful:\n  cmd.run:\n    - name: |\n        echo something\n        echo\n        echo \"changed=yes comment='the comment' other=1\"\n    - stateful: True\n"
            "stateful not:\n  cmd.run:\n    - name: echo '{\"changed\":\"no\",\"comment\":\"json\"}'\n    - stateful: True\n"
            "stateful pair:\n  cmd.run:\n    - name: echo changed=no\n    - stateful:\n      - echo hi\n      - echo test changed=yes\n"
            "hidden:\n  cmd.run:\n    - name: echo secret\n    - hide_output: True\n"
            "success:\n  cmd.run:\n    - name: exit 4\n    - success_retcodes: [4]\n"
            "waits:\n  cmd.wait:\n    - name: echo waited\n    - watch:\n      - cmd: echo hello\nwaits not:\n  cmd.wait:\n    - name: echo waited\n    - watch:\n      - cmd: only\n"
            "watched run:\n  cmd.run:\n    - name: echo w\n    - watch:\n      - cmd: echo hello\n"
            "script:\n  cmd.script:\n    - name: salt://s.sh\n    - args: one two\nscript2:\n  cmd.script:\n    - name: the name\n    - source: salt://s.sh\n    - template: jinja\nscript missing:\n  cmd.script:\n    - name: salt://none.sh\n"
            "wait script:\n  cmd.wait_script:\n    - name: salt://s.sh\n    - watch:\n      - cmd: echo hello\n"
            "timeout:\n  cmd.run:\n    - name: sleep 5\n    - timeout: 1\n",
            "s.sh": "#!/bin/sh\necho script $1 $2\n",
        },
        [("apply", "a", "test=True"), ("apply", "a")],
    ),
    (
        "module and event",
        {
            "a.sls": "new:\n  module.run:\n    - test.echo:\n      - text: hello\nnew args:\n  module.run:\n    - test.arg:\n      - a\n      - b\n      - c: d\n"
            "two:\n  module.run:\n    - test.ping:\n    - test.true: []\n"
            "old:\n  module.run:\n    - name: test.echo\n    - text: old\nmissing:\n  module.run:\n    - no.such: []\nnofun:\n  module.run: []\nfailing:\n  module.run:\n    - test.false:\n"
            "wait:\n  module.wait:\n    - test.ping: []\n    - watch:\n      - module: new\n"
            "send:\n  event.send:\n    - name: my/tag\n    - data:\n        a: 1\n"
            "send wait:\n  event.wait:\n    - name: my/tag\n    - watch:\n      - module: new\n",
        },
        [("apply", "a"), ("apply", "a", "test=True")],
    ),
    (
        "file",
        {
            "a.sls": "@ROOT@/t/contents:\n  file.managed:\n    - contents: |\n        one\n        two\n    - mode: '0640'\n    - makedirs: True\n"
            "again:\n  file.managed:\n    - name: @ROOT@/t/contents\n    - contents: |\n        one\n        three\n    - mode: '0600'\n"
            "same:\n  file.managed:\n    - name: @ROOT@/t/contents\n    - contents: |\n        one\n        three\n"
            "list:\n  file.managed:\n    - name: @ROOT@/t/list\n    - contents:\n      - first\n      - second\n"
            "pillar:\n  file.managed:\n    - name: @ROOT@/t/pillar\n    - contents_pillar: data:text\n"
            "source:\n  file.managed:\n    - name: @ROOT@/t/source\n    - source: salt://files/src\n"
            "template:\n  file.managed:\n    - name: @ROOT@/t/template\n    - source: salt://files/tpl\n    - template: jinja\n    - defaults:\n        color: red\n        size: 1\n    - context:\n        size: 2\n"
            "missing source:\n  file.managed:\n    - name: @ROOT@/t/none\n    - source: salt://files/none\n"
            "no directory:\n  file.managed:\n    - name: @ROOT@/nodir/x\n    - contents: x\n"
            "relative:\n  file.managed:\n    - name: rel/x\n    - contents: x\n"
            "keep:\n  file.managed:\n    - name: @ROOT@/t/list\n    - contents: other\n    - replace: False\n"
            "only create:\n  file.managed:\n    - name: @ROOT@/t/empty\nnot create:\n  file.managed:\n    - name: @ROOT@/t/notcreated\n    - contents: x\n    - create: False\n"
            "silent:\n  file.managed:\n    - name: @ROOT@/t/source\n    - contents: secret\n    - show_changes: False\n"
            "dir:\n  file.directory:\n    - name: @ROOT@/d\n    - mode: '0750'\ndir again:\n  file.directory:\n    - name: @ROOT@/d\n    - mode: 750\ndeep:\n  file.directory:\n    - name: @ROOT@/x/y/z\n    - makedirs: True\ndeep not:\n  file.directory:\n    - name: @ROOT@/v/w\n"
            "dir is file:\n  file.directory:\n    - name: @ROOT@/t/list\n"
            "chmod:\n  file.managed:\n    - name: @ROOT@/t/source\n    - mode: 600\nchmod contents:\n  file.managed:\n    - name: @ROOT@/t/pillar\n    - contents: from pillar\n    - mode: '0604'\n"
            "owner:\n  file.managed:\n    - name: @ROOT@/t/owned\n    - contents: x\n    - user: root\n    - group: root\nno owner:\n  file.managed:\n    - name: @ROOT@/t/owned\n    - contents: x\n    - user: nosuchuser\n"
            "dir chmod:\n  file.directory:\n    - name: @ROOT@/d\n    - mode: 700\ndir no owner:\n  file.directory:\n    - name: @ROOT@/d\n    - user: nosuchuser\n    - group: nosuchgroup\n"
            "two:\n  file.managed:\n    - name: @ROOT@/t/two\n    - contents: x\n    - source: salt://files/src\nempty not:\n  file.managed:\n    - name: @ROOT@/t/two\n    - contents: ''\n    - allow_empty: False\n"
            "no newline:\n  file.managed:\n    - name: @ROOT@/t/nonl\n    - contents: x\n    - contents_newline: False\nno pillar:\n  file.managed:\n    - name: @ROOT@/t/two\n    - contents_pillar: nothere\n"
            "inline template:\n  file.managed:\n    - name: @ROOT@/t/inline\n    - template: jinja\n    - contents: id {{ '{{' }} grains.id {{ '}}' }} {{ '{{' }} v {{ '}}' }}\n    - context: {v: 1}\n"
            "bad template:\n  file.managed:\n    - name: @ROOT@/t/bad\n    - source: salt://files/bad\n    - template: jinja\n"
            "made deep:\n  file.managed:\n    - name: @ROOT@/deep/er/file\n    - contents: x\n    - makedirs: True\n    - dir_mode: '0711'\n    - mode: '0600'\n"
            "gone:\n  file.absent:\n    - name: @ROOT@/t/list\ngone dir:\n  file.absent:\n    - name: @ROOT@/t\ngone already:\n  file.absent:\n    - name: @ROOT@/t/list\ngone relative:\n  file.absent:\n    - name: rel\n"
            "file is dir:\n  file.managed:\n    - name: @ROOT@/d\n    - contents: x\n",
            "files/src": "the source\n",
            "b.sls": "d:\n  file.directory:\n    - name: @ROOT@/d\n    - mode: 711\n"
            "@ROOT@/t/contents:\n  file.managed:\n    - contents: left\n    - makedirs: True\n@ROOT@/t/list:\n  file.managed:\n    - contents: [first, second]\n@ROOT@/t/source:\n  file.managed:\n    - contents: other\n    - mode: 640\n",
            "files/bad": "x {{ nothing.here }}\n",
            "files/tpl": "id {{ grains['id'] }} color {{ color }} size {{ size }} {{ pillar['data']['text'] }}\n",
        },
        [("apply", "a", "pillar={data: {text: from pillar}}", "test=True"), ("apply", "a", "pillar={data: {text: from pillar}}"), ("apply", "a", "pillar={data: {text: from pillar}}"), ("apply", "b", "pillar={data: {text: from pillar}}"), ("apply", "a", "pillar={data: {text: from pillar}}", "test=True")],
    ),
    (
        "parallel",
        {"a.sls": "one:\n  test.nop:\n    - parallel: True\ntwo:\n  test.succeed_with_changes:\n    - parallel: True\nthree:\n  test.nop:\n    - require:\n      - test: two\n"},
        [("apply", "a")],
    ),
]


def value_of(word):
    import salt.utils.args

    return salt.utils.args.yamlify_arg(word)


def call(opts, fun, args):
    words = [value_of(word) for word in args if "=" not in word]
    keywords = dict(word.split("=", 1) for word in args if "=" in word)
    keywords = {name: value_of(word) for name, word in keywords.items()}
    caller = salt.client.Caller(mopts=opts)
    try:
        result = caller.cmd("state." + fun, *words, **keywords)
    except Exception as error:  # the text is the record
        result = {"__exception__": type(error).__name__, "text": str(error)}
    context = caller.sminion.functions.pack["__context__"]
    try:
        retcode = dict(context).get("retcode", 0)
    except Exception:
        retcode = context.value().get("retcode", 0)
    return result, retcode


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(member) for name, member in value.items() if name not in ("duration", "start_time", "pid")}
    if isinstance(value, str) and "Traceback" in value and "Jinja variable" in value:
        return value[value.rindex("Jinja variable") :]
    return [without_times(member) for member in value] if isinstance(value, list) else value


def main():
    only = sys.argv[1:]
    recorded = []
    for name, files, calls in CASES:
        if only and name not in only:
            continue
        root = tempfile.mkdtemp(prefix="states-")
        for path, text in files.items():
            env, rest = ("dev", path[4:]) if path.startswith("dev/") else ("base", path)
            full = os.path.join(root, "roots", env, rest)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text.replace("@ROOT@", root))
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
            result, retcode = call(opts, fun, args)
            text = json.dumps(without_times(result)).replace(root, "@ROOT@")
            results.append({"fun": fun, "args": args, "result": json.loads(text), "retcode": retcode})
        recorded.append({"name": name, "files": files, "calls": results})
        shutil.rmtree(root)
    json.dump({"salt": salt.version.__version__, "cases": recorded}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
