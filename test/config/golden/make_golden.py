"""Asks real Salt what test/config compares with: default options, values of YAML texts, merged includes, moved paths, ids.

Run with the Python of each release, one argument (its name), and it updates the JSON files beside it:
    python make_golden.py 3007
"""
import json
import os
import shutil
import sys
import tempfile

import salt.config
import salt.utils.yaml

HERE = os.path.dirname(os.path.abspath(__file__))
YAML_TEXTS = [
    "yes", "y", "Yes", "on", "OFF", "NO", "n", "tRue", "true", "False", "0644", "-0644", "+017", "0o644", "0x1f", "-0x1f", "0b11", "1_000",
    "1:30", "-1:30", "12:30:45.5", "1e3", "1.5e3", "1.5e+3", "-1.5e-3", ".5", "2014-01-02", "2014-01-02 10:00:00", "~", "null", "Null", "",
    "+12", "-0", "0", "00", "08", "09", "1.", "0.", "1__0", ".inf", "-.INF", "!!str 5", "'5'", "\"5\"", "0777_7", "190:20:30", "!foo bar",
    "{a: 1, a: 2}", "1,000", "0x", "0b2", "123456789012345678901234567890", "[a, b]", "%foo", "@foo", "`a`", "a: b: c", "- a\n- b",
    "{{ foo }}", "*x", "&x 1", "1.5_0", "=", "a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", "!!python/object:os.system x", "1: a",
    "a: |\n  x\n  y\n", "a: >\n  x\n  y\n", "a: 'it''s'", "# nothing", "a: b # c", "a: \"\\u00e9\\n\"", "é: ü", "a:\n- b\n- c", "? a\n: b",
]


def yaml_values():
    values = []
    for text in YAML_TEXTS:
        try:
            value = salt.utils.yaml.safe_load(text)
            json.dumps(value, allow_nan=False)
            values.append({"text": text, "value": value})
        except ValueError:
            values.append({"text": text, "special": repr(value)})
        except Exception:  # whatever Salt refuses
            values.append({"text": text, "refused": True})
    return values


def defaults():
    found = {}
    for role, table in (("master", salt.config.DEFAULT_MASTER_OPTS), ("minion", salt.config.DEFAULT_MINION_OPTS)):
        found[role] = json.loads(json.dumps(dict(table), default=lambda value: dict(value) if hasattr(value, "items") else list(value)))
    return found


FILES = {
    "master": "root_dir: ROOT\npki_dir: /pki\ncachedir: ROOT/cache\nsock_dir: sock\nlog_file: file:///dev/log\nnodegroups:\n  a: x\ntimeout: 7\n"
    "autosign_file: sign\nworker_threads: 1\npeer:\n  .*: [test.ping]\ninclude: more/*.conf\nmine.own: {a: [1]}\n",
    "master.d/10-a.conf": "nodegroups:\n  b: y\nreactor:\n- one: [x]\nrunner_dirs: [/a]\ntimeout: 8\n",
    "master.d/20-b.conf": "nodegroups:\n  c: z\nreactor:\n- two: [y]\nrunner_dirs: [/a, /b]\n",
    "master.d/.hidden.conf": "timeout: 99\n",
    "master.d/not-a-conf.txt": "timeout: 98\n",
    "more/z.conf": "gather_job_timeout: 3\ninclude: deep.conf\n",
    "more/deep.conf": "show_jid: True\ngather_job_timeout: 4\n",
    "minion": "root_dir: ROOT\nid: 17\nappend_domain: example.com\nlog_dir: /var/log/mine\npidfile: run/x.pid\n",
}
ASKED = [
    "pki_dir", "cachedir", "sock_dir", "log_file", "nodegroups", "timeout", "autosign_file", "worker_threads", "gather_job_timeout", "show_jid",
    "reactor", "runner_dirs", "mine.own", "extension_modules", "pidfile", "id", "key_logfile",
]


def loaded():
    root = tempfile.mkdtemp()
    try:
        for name, text in FILES.items():
            path = os.path.join(root, "conf", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("ROOT", root))
        master = salt.config.master_config(os.path.join(root, "conf", "master"))
        minion = salt.config.minion_config(os.path.join(root, "conf", "minion"))
        answers = {
            "master": {key: master.get(key) for key in ASKED if key != "id"},
            "minion": {key: minion.get(key) for key in ASKED if key in ("id", "pki_dir", "cachedir", "sock_dir", "log_file", "pidfile", "extension_modules")},
        }
        return {"files": FILES, **json.loads(json.dumps(answers).replace(root, "ROOT"))}
    finally:
        shutil.rmtree(root)


def update(name, release, value):
    path = os.path.join(HERE, name)
    known = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            known = json.load(file)
    known[release] = value
    with open(path, "w", encoding="utf-8") as file:
        json.dump(known, file, indent=1, sort_keys=True, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    update("yaml.json", sys.argv[1], yaml_values())
    update("defaults.json", sys.argv[1], defaults())
    update("loaded.json", sys.argv[1], loaded())
