"""Runs a daemon on a terminal of its own, hangs the terminal up, and prints what became of the daemon as one line of JSON.

The argument is a JSON document {"argv": [...], "awaited": text, "deadline": seconds}. The terminal hangs up once it shows the text,
or once a file of that name exists. Then the daemon gets a second SIGHUP, as from the shell of a session. `exitCode` is negative for a signal
and null if the daemon did not end.
"""
import json
import os
import pty
import select
import signal
import sys
import time

plan = json.loads(sys.argv[1])
pid, master = pty.fork()
if pid == 0:
    os.execvp(plan["argv"][0], plan["argv"])
end = time.monotonic() + plan["deadline"]
shown = b""
def has_come():
    return plan["awaited"].encode() in shown or os.path.exists(plan["awaited"])


while not has_come() and time.monotonic() < end:
    if select.select([master], [], [], 0.1)[0]:
        try:
            shown += os.read(master, 65536)
        except OSError:
            # The program has ended.
            break
hasCome = has_come()
os.close(master)
# A child that has ended stays a zombie until it is waited for, so the process id is still the daemon's.
os.kill(pid, signal.SIGHUP)
status = None
while status is None and time.monotonic() < end:
    done, code = os.waitpid(pid, os.WNOHANG)
    if done:
        status = code
    else:
        time.sleep(0.02)
if status is None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
result = {"exitCode": None if status is None else os.waitstatus_to_exitcode(status), "hasCome": hasCome, "shown": shown.decode()}
print(json.dumps(result))
