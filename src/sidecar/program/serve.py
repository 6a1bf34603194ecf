"""Answers Saltworks: reads requests from a pipe, runs the site's Python through the operator's own Salt, and writes the answers."""

import io
import logging
import os
import queue
import signal
import struct
import sys
import threading
import traceback

HEAD = struct.Struct(">I")
REQUESTS, ANSWERS = 3, 4
OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
OWN_PID = os.getpid()
WRITING = threading.Lock()


class TooLarge(Exception):
    """An answer over the bound that the first request names."""


class Bounded(io.RawIOBase):
    """Keeps bytes up to a bound; the rest is dropped."""

    def __init__(self, bytes_max):
        self.kept = bytearray()
        self._max = bytes_max

    def writable(self):
        return True

    def write(self, data):
        self.kept += bytes(data)[: self._max - len(self.kept)]
        return len(data)


class Printed(io.TextIOWrapper):
    """Collects what a function prints. It has `buffer` and `encoding`, as a terminal's output."""

    def __init__(self, bytes_max):
        self._bounded = Bounded(bytes_max)
        super().__init__(io.BufferedWriter(self._bounded), encoding="utf-8", errors="replace", write_through=True)

    def text(self):
        self.flush()
        return self._bounded.kept.decode("utf-8", "replace")


def read_exactly(count):
    parts = []
    while count > 0:
        part = os.read(REQUESTS, min(count, 1 << 20))
        if not part:
            # The master has ended, or gives this process up. Commands that Python runs now must not outlive it.
            os.killpg(0, signal.SIGKILL) if os.getpgrp() == os.getpid() else os._exit(1)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def read_frames(frames):
    """A thread of its own, so that the end of the pipe ends this process while a function runs."""
    while True:
        (size,) = HEAD.unpack(read_exactly(HEAD.size))
        frames.put(read_exactly(size))


def write_frame(body):
    view = memoryview(HEAD.pack(len(body)) + body)
    # A function may fire events from several threads.
    with WRITING:
        while view:
            view = view[os.write(ANSWERS, view) :]


def bound_memory(mebibytes):
    import resource

    size = mebibytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def failure_of(error):
    """What the caller is told of an exception: its class, its text, and where the site's code raised it."""
    trace = error.__traceback__
    while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == OWN_FOLDER:
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace)
    return {"class": type(error).__name__, "text": text_of(error), "traceback": "".join(lines)[-8000:]}


def text_of(error):
    try:
        return str(error)
    except Exception:  # pylint: disable=broad-except
        return "an exception without a text"


def leave_if_forked(error):
    """A function may fork: only the process that was asked answers."""
    if os.getpid() == OWN_PID:
        return
    code = 0 if error is None else 1
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    os._exit(code & 0xFF)


class Teller:
    """Sends events of a running function, up to a bound, and none after it has ended."""

    def __init__(self, values, request, first):
        self._values = values
        self._serial = request["serial"]
        self._left = first["events_max"]
        self._bytes_max = first["printed_max"]
        self._lock = threading.Lock()

    def __call__(self, tag, data):
        """Whether the event was sent."""
        if os.getpid() != OWN_PID or not isinstance(data, dict):
            return False
        with self._lock:
            if self._left <= 0:
                return False
            body = self._values.packed({"serial": self._serial, "event": {"tag": tag, "data": data}})
            if len(body) > self._bytes_max:
                return False
            self._left -= 1
            write_frame(body)
            return True

    def end(self):
        with self._lock:
            self._left = 0


def answer_to(site, values, request, first):
    """The answer's bytes. Whatever the site's code raises is an answer, too, except for a lack of memory, which ends the process."""
    printed = Printed(first["printed_max"])
    said = sys.stdout
    sys.stdout = printed
    answer = {"serial": request["serial"]}
    tell = Teller(values, request, first)
    try:
        answer["value"] = site.run(request, tell)
    except MemoryError:
        raise
    except BaseException as error:  # pylint: disable=broad-except
        leave_if_forked(error)
        answer["failure"] = failure_of(error)
    finally:
        sys.stdout = said
    leave_if_forked(None)
    tell.end()
    try:
        answer["printed"] = printed.text()
    except ValueError:
        # The function has closed it.
        answer["printed"] = ""
    try:
        body = values.packed(answer)
        if len(body) > first["answer_bytes_max"]:
            raise TooLarge(f"the answer has {len(body)} bytes (most: {first['answer_bytes_max']})")
    except MemoryError:
        raise
    except Exception as error:  # pylint: disable=broad-except
        is_too_large = isinstance(error, TooLarge)
        told = {"class": type(error).__name__, "text": text_of(error), "traceback": "", "is_too_large": is_too_large}
        body = values.packed({"serial": request["serial"], "failure": told, "printed": ""})
    return body


def close_inherited():
    """Files of the master, such as its databases, which neither the site's code nor its commands need."""
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        if int(name) > ANSWERS:
            try:
                os.close(int(name))
            except OSError:
                # That of the listing itself.
                pass


def become(name):
    """Root serves the master's user, who owns the site's modules."""
    import pwd

    if os.geteuid() != 0:
        return
    user = pwd.getpwnam(name)
    if user.pw_uid == 0:
        return
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    os.environ.update(HOME=user.pw_dir, USER=name, LOGNAME=name)


def main():
    close_inherited()
    os.set_inheritable(REQUESTS, False)
    os.set_inheritable(ANSWERS, False)
    frames = queue.Queue()
    threading.Thread(target=read_frames, args=(frames,), daemon=True).start()
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="%(levelname)s %(name)s: %(message)s")
    if OWN_FOLDER not in sys.path:
        sys.path.insert(0, OWN_FOLDER)
    import saltworks_values as values

    first = values.unpacked(frames.get())
    try:
        become(first["user"])
        bound_memory(first["memory_mib"])
        import saltworks_plugins as plugins

        # The site's modules must not find ours by their names.
        sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != OWN_FOLDER]
        site = plugins.Site(first["config_file"])
        ready = {"serial": first["serial"], "value": plugins.about()}
    except (Exception, SystemExit) as error:  # pylint: disable=broad-except
        write_frame(values.packed({"serial": first["serial"], "failure": failure_of(error), "printed": ""}))
        return
    write_frame(values.packed(ready))
    while True:
        try:
            write_frame(answer_to(site, values, values.unpacked(frames.get()), first))
        except MemoryError:
            os.write(2, b"out of memory: salt_python_memory is the bound\n")
            os._exit(12)


if __name__ == "__main__":
    main()
