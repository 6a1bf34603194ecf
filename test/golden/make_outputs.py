"""Asks an installed Salt how it displays generated values; prints outputs.json. Usage: PYTHON make_outputs.py [SEED [COUNT]] > outputs.json

PYTHON is the interpreter of an environment with Salt in it. See README.md beside this file.
"""
import base64
import json
import random
import sys

import msgpack
import salt.output
import salt.version

OPTIONS = {
    "color": False,
    "extension_modules": "",
    "optimization_order": [0],
    "state_verbose": True,
    "state_output": "full",
    "state_output_profile": True,
    "transport": "zeromq",
    "outputter_dirs": [],
    "strip_colors": True,
}
RNG = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 20261120)
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 40
WORDS = (
    "alpha beta gamma it's \"quoted\" back\\slash ünïcode ✓ 日本語 10.20.1.11 # - -- : a: :b key: {x} [y] , & * ! | > % @ ` ? "
    "true no null ~ yes On 1 0x1f 010 1e3 1.5 .5 2026-11-20 12:30:45 << = --- ... \U0001f600 e\u0301 \xa0 \xad \u200b \u2028 \x85 \x7f \x00 \t tab\there "
    "aVeryLongWordWithoutAnyBlanksThatGoesOnAndOnAndOnUntilItIsWiderThanAPageOfEightyColumns http://web1:8080/status"
).split(" ")
SCALARS = [
    None, True, False, 0, 1, -1, 42, 2**31, 2**53 + 1, 2**63, -(2**63), 2**64 - 1, 0.0, -0.0, 1.0, 1.5, 0.1, 1e16, 1e15, 1e-4, 1e-5, 1.25e-7,
    1e300, 123456789012345680.0, 5e-324, 100.0, float("inf"), float("-inf"), float("nan"), b"", b"\xff", b"it's\x00\n\\", bytes(range(0, 256, 7)), b"\xe9" * 70,
    "", " ", "  ", "\n", "a\n", "\na", "a\nb", "a\n\nb", "a \nb", "a\n b", " lead", "trail ", "a\r\nb", "a\rb", "a\tb", "x\x1cy\x85z", "\x0bv\x0cf",
    "1", "1.0", "true", "y", "No", "null", "~", "0o17", "08", "1_000", "1:30", "1e+3", "1.0e+3", "+.inf", ".nan", "=", "<<", "2026-11-20 10:11:12", "2026-1-2",
    "- a", "-", "-a", "?", "? a", "?a", ":", ":a", "a:", "a: b", "a:b", "a #b", "a#b", "#a", "[a]", "a]", "{", "a, b", ",", "'", "''", '"', "'\"", "it's",
    "!x", "&x", "*x", "|", ">", "%x", "@x", "`x", "--- a", "---", "...", "...x", "\\", "\ufeff", "a\ufeff", "\U0001f600", "é", "\x7f", "\x80", "\xa0", "\u2028x", "\ud7ff",
    "\ue000", "\ufffd", "\u0378", "\u00ad", "\u3000", "lorem ipsum " * 12, "lorem ipsum\n" * 8, "x" * 100, "x" * 200, "word " * 40 + "\n" + "tail " * 30,
    "two  blanks " * 10, "é" * 90, "日本 " * 30, "it's " * 30, 'say "it\'s" ' * 12, "a" * 129, "ends with blank and is longer than a page of eighty columns by some way ",
    " begins with a blank and is longer than a page of eighty columns by some way, is it",
    "\tbegins with a tab and is longer than a page of eighty columns by some way,  it is",
]


def text():
    words = [RNG.choice(WORDS) for _ in range(RNG.choice((1, 1, 2, 3, 5, 12, 30)))]
    out = words[0]
    for word in words[1:]:
        out += RNG.choice((" ", " ", " ", " ", "  ", "\n", "", "-", " \n", "\n ")) + word
    return out


def scalar():
    return RNG.choice(SCALARS) if RNG.random() < 0.6 else text()


def key():
    roll = RNG.random()
    if roll < 0.6:
        return RNG.choice("a b c id name role Zed é key_1 key-2 x.y 10.1.2.3 日本 \U0001f600".split())
    return RNG.choice(["", " ", "1", "true", "a: b", "multi\nline", "k" * 130, "k" * 128, "with blanks " * 8, "'", "-", "? x"]) if roll < 0.75 else text().replace("\x1b", "")


def value(depth):
    roll = RNG.random()
    if depth <= 0 or roll < 0.45:
        return scalar()
    size = RNG.choice((0, 1, 2, 3, 4))
    if roll < 0.7:
        return [value(depth - 1) for _ in range(size)]
    if roll < 0.95:
        return {key(): value(depth - 1) for _ in range(size)}
    if roll < 0.97:
        return {RNG.choice((RNG.randrange(-9, 99), RNG.random() * 10, True)): value(depth - 1) for _ in range(size)}
    return {RNG.choice((RNG.randrange(9), key(), None)): value(depth - 1) for _ in range(size)}


def state(run, result, changes, **more):
    fields = {"name": "n%d" % run, "changes": changes, "result": result, "comment": "", "__run_num__": run, "start_time": "10:11:12.%06d" % run, "duration": run * 1.25, "__id__": "id%d" % run}
    fields.update(more)
    return fields


def runs():
    changed = {"diff": "New file", "mode": "0644"}
    base = {
        "file_|-conf_dir_|-/srv/conf_|-directory": state(0, True, {}, comment="The directory is in the correct state"),
        "file_|-conf_|-conf_|-managed": state(2, True, changed, comment="File updated\nand more\n"),
        "cmd_|-bad_|-exit 3_|-run": state(1, False, {"pid": 12, "retcode": 3, "stdout": "", "stderr": "no\nway"}, comment='Command "exit 3" run'),
        "pkg_|-vim_|-vim_|-installed": state(3, None, {}, comment="would install", warnings=["short", "a much longer warning that does-not fit into one line of the page and so is wrapped somewhere near its end-of-line"]),
    }
    single = {"test_|-a_|-a_|-nop": state(0, True, {}, comment=["a", 1], duration="4.649 ms")}
    odd = {"test_|-a_|-b_|-nop": {"result": True, "changes": ["x"], "comment": None, "__run_num__": 4}, "test_|-c_|-d_|-nop": state(5, True, {}, data={"k": 1}, __parallel__=True, duration=3000.0625)}
    plain = {"test_|-a_|-a_|-succeed": state(0, True, {}, duration=1062.5)}
    return [{"es1": base}, {"es1": single, "web1": plain}, {"es1": odd}, {"es1": {}}, {"es1": ["Rendering SLS failed:\nbad", "second"]}]


def tables():
    """Rows of every form that Salt shows as tables; a cell that is wrapped beside one that is not loses lines in Salt, and is left out."""
    macs = [{"mac": "40:A6:77:5A:50:01", "vlan": 111, "static_entry": False, "moves": None}, {"mac": "64:16:8D:32:26:58", "vlan": 22, "static_entry": True, "moves": 1.5}]
    lists = [["Name", "Größe"], ["日本", "1"], ["it's", ""]]
    words = ["lorem ipsum " * 8, "x" * 60, "one two", ""]
    napalm = {"es1": {"comment": "", "out": macs, "result": True}}
    return [napalm, {"es1": macs}, {"es1": lists}, {"es1": words, "b": []}, {"es1": {"deep": {"rows": macs, "labels": {"a": "A", "b": "B", "c": "C", "d": "D"}}}}, {"es1": [1, "two"]}, {"es1": {}}, macs, lists]


CASES = []


def has_bytes(data):
    """Salt's nested and no_return outputters show nothing at all for bytes; Saltworks shows them."""
    if isinstance(data, dict):
        return any(has_bytes(k) or has_bytes(v) for k, v in data.items())
    return any(map(has_bytes, data)) if isinstance(data, list) else isinstance(data, bytes)


def ask(data, name, **options):
    opts = dict(OPTIONS, **options)
    if "color" in options:
        opts["force_color" if options["color"] else "no_color"] = True
    retcode = opts.pop("_retcode", 0)
    shown = salt.output.out_format(data, name, opts, _retcode=retcode)
    return {"outputter": name, "options": options, "shown": shown}


def add(data, asked):
    asked = [one for one in asked if one["outputter"] not in ("nested", "no_return") or not has_bytes(data)]
    packed = base64.b64encode(msgpack.packb(data, use_bin_type=True)).decode()
    CASES.append({"data": packed, "asked": asked})


def main():
    for one in SCALARS:
        data = {"es1": one, "m": {"k": [one]}}
        add(data, [ask(data, n) for n in ("nested", "json", "yaml", "txt", "raw", "pprint", "newline_values_only", "no_return")])
        add(one, [ask(one, n) for n in ("txt", "pprint")])
    for index in range(COUNT):
        data = {"es%d" % n: value(3) for n in range(RNG.choice((1, 1, 2)))}
        asked = [ask(data, n) for n in ("nested", "json", "yaml", "txt", "raw", "pprint", "newline_values_only", "no_return")]
        if index % 8 == 0:
            asked += [ask(data, "nested", color=True), ask(data, "nested", color=True, _retcode=1), ask(data, "no_return", color=True)]
            asked += [ask(data, n, output_indent=i) for n in ("json", "yaml", "pprint") for i in (-1, 0, 4)]
            asked += [ask(data, "json", output_indent="pretty"), ask(data, "json", output_indent=None)]
        add(data, asked)
    for data in runs():
        packed = json.dumps(data)
        modes = [{}, {"color": True}, {"state_verbose": False}, {"state_output_diff": True}, {"state_output_profile": False}, {"state_output_pct": True}, {"state_tabular": True, "state_output": "terse"}]
        modes += [{"state_output": m, "color": c} for m in ("terse", "mixed", "changes", "full_id", "terse_id", "changes_id") for c in (False, True)]
        modes += [{"state_output": "filter", "state_output_exclude": ["True"], "state_output_terse": ["None"]}]
        add(data, [ask(json.loads(packed), "highstate", **mode) for mode in modes])
    keys = {"minions": ["es1", "db"], "minions_pre": [], "minions_rejected": ["x\x1b[31m"], "minions_denied": ["é"], "local": {"master.pem": "aa:bb", "master.pub": "cc"}}
    add(keys, [ask(keys, "key"), ask(keys, "key", color=True)])
    modes = [{}, {"color": True}, {"out.table.separate_rows": False}, {"out.table.justify": "left", "out.table.delim": "  ", "out.table.prefix": "", "out.table.suffix": ""}, {"out.table.justify": "right", "out.table.row_delimiter": "_"}]
    modes += [{"out.table.width": 20}, {"out.table.rows_key": "rows", "out.table.labels_key": "labels"}, {"out.table.rows_key": "out", "out.table.title": "Entries"}, {"out.table.nested_indent": 3}]
    for data in tables():
        add(data, [ask(data, "table", **mode) for mode in modes if "out.table.width" not in mode or data == {"es1": ["lorem ipsum " * 8, "x" * 60, "one two", ""], "b": []}])
    for data in runs()[:4]:
        add(data, [ask(json.loads(json.dumps(data)), "profile", **mode) for mode in modes[:5] if "4.649 ms" not in json.dumps(data)])
    stages = [{"one": {"match": ["a", "b"], "sls": ["x"], "n": 1}}, {"two": {}}]
    add(stages, [ask(stages, "overstatestage"), ask(stages, "overstatestage", color=True)])
    machine = {"cpu": 2, "mem": 512, "state": "running", "graphics": {"type": "vnc", "port": "5900"}, "disks": {"vda": {"disk size": "8G", "file": "/srv/a", "file format": "raw"}}, "nics": {"aa:bb": {"source": {"bridge": "br0"}, "type": "bridge"}}}
    hosts = {"h1": {"vm_info": {"vm1": machine, "vm2": {}}}}
    add(dict(hosts, data=hosts), [ask(dict(hosts, data=hosts), "virt_query")])
    json.dump({"salt": salt.version.__version__, "cases": CASES}, sys.stdout, ensure_ascii=True, indent=0, separators=(",", ":"))


main()
