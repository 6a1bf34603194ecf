#!/usr/bin/env python3
"""Records what real Salt makes of the corpus beside this file, into golden/.

Run it with the Python of a Salt 3007 installation: `/path/to/salt-venv/bin/python test/pillar/record.py`. With the argument
`external`, it records only the external sources (external, web, queries).
It writes nothing outside golden/ but a temporary directory, and opens one socket, on 127.0.0.1.
"""
import base64
import copy
import http.server
import json
import logging
import os
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import threading
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import msgpack
import salt.cache
import salt.config
import salt.fileclient
import salt.loader
import salt.pillar
import salt.utils.templates
import salt.utils.yaml
import salt.version
import yaml

here = pathlib.Path(__file__).parent
grains = {
    "id": "web1.example.org", "os": "Debian", "os_family": "Debian", "osmajorrelease": 12, "num_cpus": 4, "mem_total": 7950,
    "roles": ["web", "cache"], "ipv4": ["127.0.0.1", "10.0.0.5"], "fqdn": "web1.example.org", "kernel": "Linux",
    "nested": {"a": {"b": "deep"}, "list": [{"name": "x"}, {"name": "y"}]}, "virtual": "physical", "saltversion": "3007.1",
    "empty": "", "zero": 0, "none": None, "ratio": 1.5, "whole": 2.0, "flag": True,
}


def master_options(root, extra):
    options = salt.config.DEFAULT_MASTER_OPTS.copy()
    options = salt.config.apply_master_config({"root_dir": str(root), "user": "root", "id": "master"}, options)
    for directory in ("cachedir", "pki_dir"):
        options[directory] = str(root / directory)
        pathlib.Path(options[directory]).mkdir(parents=True, exist_ok=True)
    options["file_roots"] = {"base": [str(root / "states")]}
    options["extension_modules"] = str(root / "ext")
    options["__role"] = "master"
    options["optimization_order"] = [0]
    options.update(extra)
    return options


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def compile_case(case):
    root = pathlib.Path(tempfile.mkdtemp(prefix="pillar-record-"))
    try:
        write(root / "pillar", case.get("files", {}))
        roots = case.get("roots", {"base": ["base"]})
        options = master_options(root, placed(case.get("master", {}), str(root / "pillar")))
        options["pillar_roots"] = {env: [str(root / "pillar" / d) for d in dirs] for env, dirs in roots.items()}
        minion = case.get("minion", {})
        its_grains = {**copy.deepcopy(grains), **minion.get("grains", {})}
        identity = minion.get("id", "web1.example.org")
        its_grains["id"] = identity
        # The source file_tree asks for the accepted minions of a nodegroup.
        accepted = pathlib.Path(options["pki_dir"]) / "minions" / identity
        accepted.parent.mkdir()
        accepted.write_text("key")
        # The source nodegroups matches by the grains that the master kept.
        salt.cache.factory(options).store(f"minions/{identity}", "data", {"grains": its_grains, "pillar": {}})
        pillar = salt.pillar.Pillar(
            options, its_grains, identity, minion.get("saltenv"), pillar_override=minion.get("override", {}),
            pillarenv=minion.get("pillarenv"), ext=minion.get("ext"), extra_minion_data=minion.get("extra"),
        )
        result = pillar.compile_pillar()
        if "master" in result:
            result["master"] = {"id": result["master"]["id"]}
        packed = msgpack.packb(json_free(result), use_bin_type=True)
        return {"pillar": base64.b64encode(packed).decode(), "shown": json.loads(json.dumps(result, default=str, skipkeys=True))}
    except Exception as exc:  # the whole compilation failed: the minion gets no pillar at all
        return {"raised": type(exc).__name__, "message": str(exc).split("\n")[0]}
    finally:
        shutil.rmtree(root, ignore_errors=True)


def placed(value, root):
    """With the place of the files in each text."""
    if isinstance(value, dict):
        return {key: placed(member, root) for key, member in value.items()}
    if isinstance(value, list):
        return [placed(member, root) for member in value]
    return value.replace("@ROOT@", root) if isinstance(value, str) else value


def json_free(value):
    """Subclasses of dict and str as what they are."""
    if isinstance(value, dict):
        return {json_free(key): json_free(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_free(member) for member in value]
    # The texts of YAMLEX print themselves in quotes.
    return str.__str__(value) if isinstance(value, str) else value


def render_case(template, files, options, functions, root):
    write(root / "pillar", files)
    context = {
        "opts": {"id": "web1.example.org", "nodegroups": {"web": "web*"}, "custom": {"a": 1}, "jinja_env": {}, "file_client": "local",
                 "pillar_roots": {"base": [str(root / "pillar" / "base")]}, "cachedir": options["cachedir"], "file_roots": {"base": []},
                 "jinja_trim_blocks": False, "jinja_lstrip_blocks": False, "fileserver_ignoresymlinks": False},
        "saltenv": "base", "sls": "case", "grains": copy.deepcopy(grains), "pillar": {}, "salt": functions,
        "_pillar_rend": True, "tpldir": ".", "tplfile": "case.sls", "tpldot": "",
    }
    context["fileclient"] = salt.fileclient.get_file_client({**options, **context["opts"], "file_client": "local"}, True)
    try:
        text = salt.utils.templates.render_jinja_tmpl(template, context)
        return {"text": str(text)}
    except Exception as exc:
        return {"error": str(exc).split("\n")[0].split("; line ")[0], "line": getattr(exc, "line_num", None)}


def compiled(corpus):
    return {case["name"]: compile_case(case) for case in yaml.safe_load((here / "corpus" / f"{corpus}.yaml").read_text())}


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers by path as a case of corpus/web.yaml says."""

    answers = {}

    def do_GET(self):
        answer = self.answers.get(self.path, {"status": 404})
        wanted = answer.get("login")
        given = self.headers.get("Authorization", "")
        is_refused = wanted is not None and given != "Basic " + base64.b64encode(wanted.encode()).decode()
        self.send_response(401 if is_refused else answer.get("status", 200))
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.get("body", "").replace("@HEADER@", self.headers.get("X-Given", "")).encode())

    def log_message(self, *args):
        pass


def web_results():
    """What Salt makes of the answers of a web server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    results = {}
    for case in yaml.safe_load((here / "corpus" / "web.yaml").read_text()):
        Answers.answers = case["answers"]
        url = f"http://127.0.0.1:{server.server_port}"
        results[case["name"]] = compile_case(json.loads(json.dumps(case).replace("@URL@", url)))
    server.shutdown()
    return results


def query_results():
    """What Salt makes of the rows of queries, by its source sqlite3."""
    results = {}
    for case in yaml.safe_load((here / "corpus" / "queries.yaml").read_text()):
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            database = sqlite3.connect(file.name)
            for number, table in enumerate(case["tables"]):
                columns = ", ".join(f'"{name}"' for name in table["fields"])
                database.execute(f"CREATE TABLE t{number} ({columns})")
                marks = ", ".join("?" for _ in table["fields"])
                database.executemany(f"INSERT INTO t{number} VALUES ({marks})", table["rows"])
            database.commit()
            database.close()
            results[case["name"]] = compile_case({
                "master": {"sqlite3": {"database": file.name}, "ext_pillar": [{"sqlite3": case["arguments"]}]},
            })
    return results


def write_golden(golden, name, about, results, root):
    text = json.dumps({"recordedWith": about, "results": results}, indent=1, sort_keys=False, ensure_ascii=True)
    (golden / f"{name}.json").write_text(text.replace(str(root), "/ROOT") + "\n")


def main():
    golden = here / "golden"
    golden.mkdir(exist_ok=True)
    about = {"salt": salt.version.__version__, "jinja": __import__("jinja2").__version__, "yaml": yaml.__version__}
    root = pathlib.Path(tempfile.mkdtemp(prefix="pillar-record-"))
    options = master_options(root, {})
    options["grains"] = grains
    functions = salt.loader.minion_mods({**options, "id": "web1.example.org", "grains": grains})
    rendered = {}
    for expression in yaml.safe_load((here / "corpus" / "expressions.yaml").read_text()):
        rendered[expression] = render_case("{{ " + expression + " }}", {}, options, functions, root)
    templates = {}
    for case in yaml.safe_load((here / "corpus" / "templates.yaml").read_text()):
        shutil.rmtree(root / "pillar", ignore_errors=True)
        templates[case["name"]] = render_case(case["template"], case.get("files", {}), options, functions, root)
    shutil.rmtree(root, ignore_errors=True)
    documents = {}
    for text in yaml.safe_load((here / "corpus" / "documents.yaml").read_text()):
        try:
            value = salt.utils.yaml.safe_load(text)
            documents[text] = {"value": base64.b64encode(msgpack.packb(value, use_bin_type=True, strict_types=False)).decode()}
        except Exception as exc:
            documents[text] = {"error": str(exc).split("\n")[0]}
    if sys.argv[1:] == ["external"]:
        write_golden(golden, "web", about, web_results(), root)
        write_golden(golden, "queries", about, query_results(), root)
        write_golden(golden, "external", about, compiled("external"), root)
        return
    for name, results in (("pillars", compiled("pillars")), ("external", compiled("external")), ("expressions", rendered), ("templates", templates), ("documents", documents)):
        write_golden(golden, name, about, results, root)


main()
