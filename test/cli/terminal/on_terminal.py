"""Runs a program on a terminal of its own, types keys when it shows what is awaited, and prints what became of it as one line of JSON.

The argument is a JSON document {"argv": [...], "steps": [[awaited, keys], ...], "deadline": seconds}. `awaited` is text that the
terminal shows after the step before; `keys` are typed then. A third member of a step is a path: processes that name it stand still from
then on, until the terminal has echoed an interrupt. In the result `isOver` says whether the program ended before the deadline,
`ended` holds the seconds from the last keys to its end, `isTyped` says whether every step came, and `echo` whether the terminal shows
afterwards what is typed.
"""
import fcntl
import json
import os
import pty
import select
import signal
import sys
import termios
import time

plan = json.loads(sys.argv[1])
# The program's end of the terminal stays open here, so that its settings can be read after the program's end.
master, slave = pty.openpty()
pid = os.fork()
if pid == 0:
    os.close(master)
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    os.close(slave)
    os.execvp(plan["argv"][0], plan["argv"])

def signal_processes(path, number):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if any(word.startswith(path.encode()) for word in words):
                os.kill(int(name), number)
        except OSError:
            # A process may end while it is read.
            continue


halted = None
began = typed = time.monotonic()
shown = b""
looked = 0
steps = plan["steps"]
status = ended = None
while time.monotonic() - began < plan["deadline"]:
    isReadable = select.select([master], [], [], 0.02)[0]
    if isReadable:
        shown += os.read(master, 65536)
    if steps:
        awaited = steps[0][0].encode()
        at = shown.find(awaited, looked)
        if at >= 0:
            looked = at + len(awaited)
            _, keys, *paths = steps.pop(0)
            if paths:
                halted = paths[0]
                signal_processes(halted, signal.SIGSTOP)
            os.write(master, keys.encode())
            typed = time.monotonic()
    if halted is not None and shown.find(b"^C", looked) >= 0:
        signal_processes(halted, signal.SIGCONT)
        halted = None
    if status is None:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status, ended = code, time.monotonic() - typed
    elif not isReadable:
        break
isEchoing = bool(termios.tcgetattr(slave)[3] & termios.ECHO)
if halted is not None:
    signal_processes(halted, signal.SIGKILL)
if status is None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
result = {
    "shown": shown.decode("utf8", "replace").replace("\r\n", "\n"),
    "isOver": status is not None,
    "exitCode": None if status is None else -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status),
    "ended": ended,
    "echo": isEchoing,
    "isTyped": not steps,
}
print(json.dumps(result))
