"""Writes peer-rules.json: what Salt's own code decides about publishes and runner calls of minions.

Run with a Salt installation's Python: PYTHON peer_rules.py > peer-rules.json
Targets are globs over a fixed fleet, so that only the permissions are under test.
"""

import fnmatch
import json
import sys
from unittest import mock

import salt.daemons.masterapi
import salt.master
import salt.utils.minions
import salt.version

FLEET = ["web1", "web2", "db1", "edge"]


class Minions(salt.utils.minions.CkMinions):
    def __init__(self, opts):
        self.opts = opts

    def check_minions(self, expr, tgt_type="glob", delimiter=":", greedy=True):
        if tgt_type == "pillar":
            return {"minions": [m for m in FLEET if expr.startswith("tier:*") or m.startswith("web")], "missing": []}
        if tgt_type == "pillar_exact":
            return {"minions": [] if "*" in expr else [m for m in FLEET if m.startswith("web")], "missing": []}
        if tgt_type == "list":
            return {"minions": [m for m in FLEET if m in expr], "missing": []}
        words = expr.split(" or ")
        return {"minions": [m for m in FLEET if any(fnmatch.fnmatchcase(m, w) for w in words)], "missing": []}


def publish(peer, load):
    opts = {"peer": peer}
    funcs = object.__new__(salt.master.AESFuncs)
    funcs.opts = opts
    funcs.ckminions = Minions(opts)
    try:
        if not funcs._AESFuncs__verify_minion_publish(load):
            return False
        local = object.__new__(salt.daemons.masterapi.RemoteFuncs)
        local.opts = opts
        local.ckminions = funcs.ckminions
        return bool(local._RemoteFuncs__verify_minion_publish(load))
    except Exception:  # Salt then answers with an empty text
        return False


def run(peer_run, load):
    remote = object.__new__(salt.daemons.masterapi.RemoteFuncs)
    remote.opts = {"peer_run": peer_run, "conf_file": ""}
    with mock.patch("salt.runner.Runner") as runner:
        runner.return_value.run.return_value = "ran"
        try:
            return remote.minion_runner(load) == "ran"
        except Exception:
            return False


PEERS = {
    "none": {},
    "all": {".*": [".*"]},
    "tests": {".*": ["test.*", "grains.get", "network.ip_addrs"]},
    "start": {"web": ["test.ping"], "b1": [".*"]},
    "anchored": {"web1$": ["^test\\.ping$"]},
    "alternatives": {"(web|db)1": ["test.(ping|echo)"]},
    "no list": {".*": "test.ping"},
    "map instead": {".*": {"test.ping": None}},
    "broken id": {"[": [".*"], "web1": ["test.ping"]},
    "broken function": {"web1": ["[", "test.ping"]},
    "numbers": {"web1": [7, None, "test.ping"]},
    "targets": {".*": [{"web*": ["test.*"]}, {"db1": "cmd.run"}]},
    "targets and all": {".*": ["test.ping", {"db*": [".*"]}]},
    "compound target": {".*": [{"web1 or db1": ["test.ping"]}]},
    "two targets": {".*": [{"web*": ["test.ping"], "db*": ["test.ping"]}]},
    "arguments": {
        ".*": [
            {"*": [{"test.echo": {"args": ["hi.*", None]}}, {"test.arg": {"kwargs": {"a": "x", "b": None}}}]},
            {"web*": [{"test.kwarg": [{"args": ["1"]}, {"kwargs": {"c": "True"}}]}]},
        ]
    },
    "arguments as text": {".*": [{"*": [{"test.echo": "hi"}, {"test.arg": {"args": "hi"}}]}]},
    "lookahead": {"(?!db)": ["(?!cmd)"]},
    "publishing": {".*": ["publish.*", "test.ping"]},
}
LOADS = [
    ("test.ping", [], "*"),
    ("test.ping", [], "web*"),
    ("test.ping", [], "db1"),
    ("test.ping", [], "nobody"),
    ("test.pinging", [], "web1"),
    ("xtest.ping", [], "web1"),
    ("cmd.run", ["id"], "db1"),
    ("cmd.run", ["id"], "*"),
    ("saltutil.find_job", ["1"], "web1"),
    ("publish.publish", ["*", "test.ping"], "web1"),
    ("publisher.x", [], "web1"),
    ("test.ping,cmd.run", [[], ["id"]], "web1"),
    ("cmd.run,test.ping", ["id", ""], "web1"),
    ("test.echo", ["hi there", "x"], "*"),
    ("test.echo", ["hi there"], "*"),
    ("test.echo", ["ho", "x"], "*"),
    ("test.echo", [], "*"),
    ("test.arg", [{"__kwarg__": True, "a": "xyz", "b": 1}], "db1"),
    ("test.arg", [{"__kwarg__": True, "a": "y", "b": 1}], "db1"),
    ("test.arg", ["a=x", "b=1"], "db1"),
    ("test.arg", ["hi"], "db1"),
    ("test.kwarg", [1], "web1"),
    ("test.kwarg", [{"__kwarg__": True, "c": True}], "web*"),
    ("test.kwarg", [1], "db1"),
    ("", [], "*"),
]
KINDS = [("test.ping", "tier:front", "pillar"), ("test.ping", "tier:*", "pillar"), ("test.ping", ["web1", "db1"], "list")]
IDS = ["web1", "db1", "xweb1", "b1"]


def decisions(decide, loads):
    """By rules and minion: one digit for each load, 1 where it is permitted."""
    return {
        name: {minion: "".join(str(int(decide(rules, {**load, "id": minion}))) for load in loads()) for minion in IDS}
        for name, rules in PEERS.items()
    }


def publishes():
    return [
        {"fun": fun, "arg": json.loads(json.dumps(arg)), "tgt": tgt, "tgt_type": kind, "ret": ""}
        for fun, arg, tgt, kind in [(*load, "glob") for load in LOADS] + [(f, [], t, k) for f, t, k in KINDS]
    ]


def runs():
    return [{"fun": fun, "arg": []} for fun in ("test.ping", "test.pinging", "cmd.run", "publish.publish", "")]


def main():
    found = {
        "salt": salt.version.__version__,
        "fleet": FLEET,
        "rules": PEERS,
        "publishes": {"loads": publishes(), "permitted": decisions(publish, publishes)},
        "runs": {"loads": runs(), "permitted": decisions(run, runs)},
    }
    json.dump(found, sys.stdout, indent=1)
    print()


main()
