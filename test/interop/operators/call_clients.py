"""Calls wheel and runner functions of a running master through Salt's own clients; prints what each answered, a JSON document a line."""

import json
import os
import sys

import salt.config
import salt.runner
import salt.wheel

config_file, calls = sys.argv[1], json.loads(sys.argv[2])
opts = salt.config.master_config(config_file)
with open(os.path.join(opts["cachedir"], ".root_key" if opts["user"] == "root" else "." + opts["user"] + "_key")) as file:
    key = file.read()
wheel = salt.wheel.WheelClient(opts)
runner = salt.runner.RunnerClient(opts)
for kind, name, args, kwargs in calls:
    if kind == "wheel":
        # Salt takes a user's name beside the key for an argument of the function.
        answer = wheel.cmd_sync({"fun": name, "key": key, **kwargs})["data"]
    else:
        low = {"fun": name, "arg": args, "kwarg": kwargs, "key": key, "user": opts["user"]}
        answer = runner.cmd_sync(low, timeout=60, full_return=True)["data"]
    shown = {key: answer.get(key) for key in ("fun", "fun_args", "return", "success")}
    print(json.dumps(shown, sort_keys=True), flush=True)
