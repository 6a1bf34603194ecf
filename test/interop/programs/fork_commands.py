"""Runs Salt's own command lines, each in a fork of this interpreter, which has imported Salt before: most of a short command's time is imports.

Standard input: a line of JSON for each command: {"id": 1, "argv": [program, word, ...], "folder": "..."}. The folder holds `stdin`, and gets
`stdout` and `stderr`. With "env", these are all its environment variables. Standard output: {"id": 1, "code": 0} or {"id": 1, "signal": 9} for each that ended. {"kill": 1} ends one.
The end of standard input ends all of them. What a fork runs is the program's own file, unchanged.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import sys
import threading

from own_folders import remember

IMPORTED = """
salt.scripts salt.cli.salt salt.cli.run salt.cli.key salt.cli.cp salt.client salt.runner salt.wheel salt.key salt.output salt.loader
salt.loader.lazy salt.utils.event salt.utils.parsers salt.utils.jid salt.utils.minions salt.utils.verify salt.channel.client
salt.transport.zeromq salt.transport.tcp salt.crypt salt.payload salt.cli.batch salt.cli.call salt.cli.caller salt.minion salt.fileclient salt.pillar salt.state
""".split()

OPEN = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def become(command):
    """In the fork: its own environment, and its own files as standard input, output and error; returns once they are open."""
    if "env" in command:
        os.environ.clear()
        os.environ.update(command["env"])
    folder = command["folder"]
    for number, (name, flags) in enumerate([("stdin", os.O_RDONLY), ("stdout", OPEN), ("stderr", OPEN)]):
        opened = os.open(os.path.join(folder, name), flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)


def serve():
    """Returns the words of a command in each fork; ends with standard input in the first process."""
    running = {}
    replies = os.dup(1)
    wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    rest = b""
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            for pid in list(running):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if ended == 0:
                    continue
                reply = {"id": running.pop(pid)}
                if os.WIFSIGNALED(status):
                    reply["signal"] = os.WTERMSIG(status)
                else:
                    reply["code"] = os.WEXITSTATUS(status)
                os.write(replies, (json.dumps(reply) + "\n").encode())
        if 0 not in ready:
            continue
        chunk = os.read(0, 65536)
        if chunk == b"":
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        *lines, rest = (rest + chunk).split(b"\n")
        for command in map(json.loads, lines):
            if "kill" in command:
                for pid in [pid for pid, number in running.items() if number == command["kill"]]:
                    os.kill(pid, signal.SIGKILL)
                continue
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for opened in (replies, wake, woken):
                    os.close(opened)
                become(command)
                return command["argv"]
            running[pid] = command["id"]


for module in IMPORTED:
    try:
        importlib.import_module(module)
    except ImportError:
        # Not in every release: a command that needs it imports it itself.
        pass
if threading.active_count() != 1:
    sys.exit("importing Salt started a thread, which no fork would have")
remember()
gc.collect()
gc.freeze()
sys.argv = serve()
runpy.run_path(sys.argv[0], run_name="__main__")
