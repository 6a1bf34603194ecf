"""Runs one engine of the configuration, as the operator's own Salt does. It ends with its standard input."""

import logging
import os
import signal
import sys
import threading


def end_with_input():
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL) if os.getpgrp() == os.getpid() else os._exit(1)


def settings_of(entries, place):
    """The name and the arguments of an entry: `engines` is a list of names and of maps with one name each."""
    entry = entries[place]
    if not isinstance(entry, dict):
        return entry, entry, {}
    ((name, arguments),) = entry.items()
    arguments = dict(arguments or {})
    return name, arguments.pop("engine_module", name), arguments


def close_inherited():
    """Files of the master, such as its databases."""
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []:
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                # That of the listing itself.
                pass


def main():
    close_inherited()
    config_file, place = sys.argv[1], int(sys.argv[2])
    threading.Thread(target=end_with_input, daemon=True).start()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    own_folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != own_folder]
    import salt.config
    import salt.loader

    opts = salt.config.master_config(config_file)
    opts["__role"] = "master"
    entries = opts["engines"]
    if isinstance(entries, dict):
        entries = [{name: arguments} for name, arguments in entries.items()]
    name, module, arguments = settings_of(entries, place)
    utils = salt.loader.utils(opts)
    runners = salt.loader.runner(opts, utils=utils)
    functions = salt.loader.minion_mods(opts, utils=utils)
    engines = salt.loader.engines(opts, functions, runners, utils)
    start = f"{module}.start"
    if start not in engines:
        sys.exit(f"engines: {name}: {engines.missing_fun_string(start)}")
    engines[start](**arguments)


if __name__ == "__main__":
    main()
