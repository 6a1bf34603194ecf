"""Records the requests of a real minion for a highstate; prints highstate.json. Usage: PYTHON make_highstate.py NODE MAIN_JS > highstate.json

PYTHON is the interpreter of an environment with Salt in it; NODE and MAIN_JS start our master (dist/src/cli/main.js). See README.md beside this file.
Runs `salt '*' state.highstate` twice: once with an empty cache of files on the minion, once when the minion has all of them.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

LOG = "SALTWORKS_REQUEST_LOG"
# For the second piece of a file Salt sends the first one's load again, to which it had added these.
ADDED = ("nonce", "ts", "tok", "id")
REUSED = ("_serve_file",)


def minion(config):
    """The minion's program, which notes every load that it sends."""
    import salt.channel.client
    import salt.scripts

    package = salt.channel.client.AsyncReqChannel._package_load

    def noting(self, load, *rest, **named):
        members = {key: note(key, value) for key, value in load.items() if key not in ADDED or load["cmd"] not in REUSED}
        with open(os.environ[LOG], "a") as log:
            log.write(json.dumps({"channel": id(self), "process": os.getpid(), "load": members}) + "\n")
        return package(self, load, *rest, **named)

    salt.channel.client.AsyncReqChannel._package_load = noting
    sys.argv = ["salt-minion", "-c", config, "-l", "warning"]
    salt.scripts.salt_minion()


def note(key, value):
    """Names and small values as they are; the size of everything else."""
    if isinstance(value, (int, type(None))) or (isinstance(value, str) and len(value) < 80 and key != "jid"):
        return value
    return f"<{type(value).__name__} of {len(value)}>"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def lay_out(root):
    """A tree with a top file, two sls files of which one includes the other, and three sources."""
    states = os.path.join(root, "states")
    write(f"{states}/top.sls", "base:\n  '*': [web, base]\n")
    write(f"{states}/web.sls", "include: [base]\n" + managed(root, "a.conf", "b.conf"))
    write(f"{states}/base.sls", managed(root, "c.conf"))
    for name in "abc":
        write(f"{states}/files/{name}.conf", f"{name} = 1\n" * 20)
    publish, requests = free_port(), free_port()
    shared = {"root_dir": root, "user": os.environ.get("USER", "root")}
    master = {"interface": "127.0.0.1", "publish_port": publish, "ret_port": requests, "auto_accept": True, "pki_dir": f"{root}/pki-master", "cachedir": f"{root}/cache-master", "sock_dir": f"{root}/run", "log_file": f"{root}/master.log", "pidfile": f"{root}/master.pid", "file_roots": {"base": [states]}}
    own = {"id": "unit", "master": "127.0.0.1", "master_port": requests, "publish_port": publish, "pki_dir": f"{root}/pki-minion", "cachedir": f"{root}/cache-minion", "sock_dir": f"{root}/run-minion", "log_file": f"{root}/minion.log", "pidfile": f"{root}/minion.pid"}
    for name, options in ("master", master), ("minion", own):
        write(f"{root}/etc/{name}", "".join(f"{key}: {json.dumps(value)}\n" for key, value in {**shared, **options}.items()))


def managed(root, *names):
    return "".join(f"{root}/out/{name}:\n  file.managed: [{{source: salt://files/{name}}}, {{makedirs: true}}]\n" for name in names)


def requests_since(log, start):
    with open(log) as file:
        notes = [json.loads(line) for line in file][start:]
    channels = {}
    return [{"channel": channels.setdefault((item["process"], item["channel"]), len(channels)), **item["load"]} for item in notes]


def main(node, program):
    root = tempfile.mkdtemp(prefix="swh")
    log = os.path.join(root, "requests")
    open(log, "w").close()
    lay_out(root)
    etc = f"{root}/etc"
    run = [node, program]
    parts = [subprocess.Popen([*run, "master", "-c", etc], stdout=sys.stderr), subprocess.Popen([sys.executable, __file__, "--minion", etc], env={**os.environ, LOG: log}, stdout=sys.stderr)]
    try:
        deadline = time.monotonic() + 90
        while "unit" not in subprocess.run([*run, "salt", "-c", etc, "-t", "5", "*", "test.ping"], capture_output=True, text=True).stdout:
            if time.monotonic() > deadline:
                raise SystemExit("the minion does not answer")
        time.sleep(2)
        recorded = {}
        for name in "first", "second":
            start = len(open(log).readlines())
            subprocess.run([*run, "salt", "-c", etc, "-t", "60", "*", "state.highstate"], check=False, stdout=sys.stderr)
            time.sleep(1)
            recorded[name] = requests_since(log, start)
        import salt.version

    X
    finally:
        for part in parts:
            part.terminate()
        for part in parts:
            part.wait(30)
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1] == "--minion":
        minion(sys.argv[2])
    else:
        main(*sys.argv[1:])
