/** A site with plug-ins of its own in Python, one of each kind that a master loads, and the options that name them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export type PythonSite = {
  /** `extension_modules` */
  readonly modules: string;
  /** Where the returner of events writes. */
  readonly events: string;
  /** Where the minion's functions of reactions write. */
  readonly called: string;
  readonly options: Readonly<Record<string, unknown>>;
};

const plugins: Readonly<Record<string, string>> = {
  "pillar/site_pillar.py": `
def ext_pillar(minion_id, pillar, greeting="hello", **more):
    return {"greeting": greeting + " " + minion_id, "seen": sorted(pillar), "kernel": __grains__["kernel"], "more": more}
`,
  "pillar/site_broken.py": `
def ext_pillar(minion_id, pillar, *args):
    raise ValueError("no answer for " + minion_id)
`,
  "renderers/site_pairs.py": `
def render(template, saltenv="base", sls="", **kwargs):
    text = template if isinstance(template, str) else template.read()
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
`,
  "modules/site_module.py": `
def answer(one, two=1):
    return {"sum": one + two, "for": __grains__["id"]}
`,
  "tops/site_tops.py": `
def top(**kwargs):
    return {"base": ["told." + kwargs["opts"]["id"]]}
`,
  "runners/site_runner.py": `
import os, time

def hello(name, loud=False):
    """
    Say hello.
    """
    print("about to greet")
    return {"hello": name.upper() if loud is True else name, "master": __opts__["id"]}

def tell():
    for step in range(2):
        __jid_event__.fire_event({"step": step}, "progress")
    return "told"

def boom():
    raise ValueError("no such thing")

def ping(tgt):
    return __salt__["salt.execute"](tgt, "test.ping")

def odd():
    return {"tuple": (1, "a"), "large": 2 ** 70, "bytes": b"ab", 5: None}

def process():
    return os.getpid()

def wait(seconds):
    time.sleep(seconds)
    return os.getpid()

def eat():
    return len(bytearray(8_000_000_000))

def large(size):
    return b"x" * size

def fork():
    if os.fork() == 0:
        raise SystemExit(3)
    return os.waitstatus_to_exitcode(os.wait()[1])

def write():
    import sys
    sys.stdout.buffer.write(b"bytes")
    return sys.stdout.encoding

def scribble():
    for file in (1, 2, 4):
        os.write(file, b"\\xff" * 100)
    return True
`,
  "wheel/site_wheel.py": `
def place():
    return __opts__["id"]
`,
  "auth/site_auth.py": `
def auth(username, password):
    return password == "right"

def groups(username, *args, **kwargs):
    return ["admins"] if username == "ann" else []
`,
  "fileserver/site_files.py": `
import hashlib, os

FILES = {"base": {"far/away.txt": b"from afar", "far/deep/er.txt": b"d" * 300_000}}

def envs():
    return list(FILES)

def update():
    pass

def find_file(path, saltenv="base", **kwargs):
    if path == "near.txt" and saltenv == "base":
        return {"path": __opts__["site_near"], "rel": path}
    known = path in FILES.get(saltenv, {})
    return {"path": "site://" + path, "rel": path} if known else {"path": "", "rel": ""}

def serve_file(load, fnd):
    if os.path.isfile(fnd["path"]):
        with open(fnd["path"], "rb") as file:
            file.seek(load["loc"])
            return {"data": file.read(__opts__["file_buffer_size"]), "dest": fnd["rel"]}
    data = FILES[load["saltenv"]][fnd["rel"]][load["loc"]:]
    return {"data": data[: __opts__["file_buffer_size"]], "dest": fnd["rel"]}

def file_hash(load, fnd):
    if os.path.isfile(fnd["path"]):
        with open(fnd["path"], "rb") as file:
            return {"hash_type": "sha256", "hsum": hashlib.sha256(file.read()).hexdigest()}
    data = FILES[load["saltenv"]][fnd["rel"]]
    return {"hash_type": "sha256", "hsum": hashlib.sha256(data).hexdigest()}

def file_list(load):
    return sorted(FILES.get(load["saltenv"], {})) + ["near.txt"]

def dir_list(load):
    return ["far", "far/deep"]

def file_list_emptydirs(load):
    return []

def symlink_list(load):
    return {}
`,
  "output/site_lines.py": `
def output(data, **kwargs):
    return "".join(f"<{key}> {value}\\n" for key, value in sorted(data.items())) + __opts__["id"][-7:]
`,
  "returners/site_events.py": `
import json

def event_return(events):
    if any(event["tag"] == "site/refused" for event in events):
        raise ValueError("not this one")
    with open(__opts__["site_events"], "a") as file:
        for event in events:
            file.write(json.dumps({"tag": event["tag"], "has": sorted(event["data"])}) + "\\n")
`,
  "engines/site_engine.py": `
import time
import salt.utils.event

def start(word):
    event = salt.utils.event.get_master_event(__opts__, __opts__["sock_dir"], listen=False)
    while True:
        event.fire_event({"word": word}, "site/engine/tick")
        time.sleep(0.5)
`,
};

const files: Readonly<Record<string, string>> = {
  "states/top.sls": "base: {'*': []}\n",
  "states/told/stock.sls": "told state: {test.nop: []}\n",
  "states/orch.sls": `
asked:
  salt.function: {name: test.ping, tgt: stock}
rendered:
  test.configurable_test_state:
    - changes: False
    - result: True
    - comment: "{{ salt['site_module.answer'](2, two=5).sum }} {{ pillar.greeting }}"
`,
  "states/orch_py.sls": `#!py
def run():
    return {"made in Python": {"test.nop": [{"name": __pillar__["greeting"]}]}}
`,
  "states/_runners/synced.py": "def where():\n    return 'synced'\n",
  "called.sls": `
by keyword:
  caller.file.append:
    - args:
      - path: {{ opts.site_called }}
      - args: [{{ data.word | json }}]
by place:
  caller.file.append:
    - args: [{{ opts.site_called }}, by place]
unknown:
  caller.nowhere.at_all: []
`,
  "called.txt": "",
  "near.txt": "from nearby\n",
  "secrets.yaml": "greeting: good day\nword: {told: [1, 2.5, true]}\n",
  "pillar/top.sls": "base: {'*': [plain, in_python, pairs, asking]}\n",
  "pillar/plain.sls": "plain: 1\n",
  "pillar/in_python.sls": `#!py
def run():
    return {"in_python": __grains__["id"], "asked": __salt__["site_module.answer"](1)}
`,
  "pillar/pairs.sls": "#!site_pairs\none=1\ntwo=2\n",
  "pillar/asking.sls":
    "sum: {{ salt['site_module.answer'](2, two=5) | json }}\nsaid: {{ salt['cmd.run']('echo hi') }}\n",
};

/** @param more - options beside those of the plug-ins */
export function pythonSite(folder: string, more: Readonly<Record<string, unknown>> = {}): PythonSite {
  const [modules, events] = [join(folder, "modules"), join(folder, "events.log")];
  const all = [
    ...Object.entries(plugins).map(([path, text]) => [join(modules, path), text] as const),
    ...Object.entries(files).map(([path, text]) => [join(folder, path), text] as const),
  ];
  for (const [path, text] of all) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const options = {
    extension_modules: modules,
    site_events: events,
    site_near: join(folder, "near.txt"),
    site_called: join(folder, "called.txt"),
    reactor: [{ "site/call": [join(folder, "called.sls")] }],
    // Salt makes the minion of `caller` reactions of this configuration.
    file_client: "local",
    fileserver_backend: ["roots", "site_files"],
    file_roots: { base: [join(folder, "states")] },
    pillar_roots: { base: [join(folder, "pillar")] },
    site_secrets: { driver: "yaml", files: [join(folder, "secrets.yaml")] },
    site_word: "sdb://site_secrets/word",
    ext_pillar: [{ site_pillar: { greeting: "sdb://site_secrets/greeting", extra: [1, 2] } }],
    master_tops: { site_tops: true },
    event_return: "site_events",
    engines: [{ site_engine: { word: "tick" } }],
    external_auth: { site_auth: { bob: ["test.*"], "admins%": [".*", "@runner"] } },
    ...more,
  };
  return { modules, events, called: options.site_called, options };
}
