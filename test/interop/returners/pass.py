"""Passes returns to one of Salt's own returners, or lets it clean old jobs. Reads {name, options, returns | cleans} as JSON."""
import json
import sys

import salt.config
import salt.loader
import salt.utils.json  # Some returners use it without importing it.

ask = json.load(sys.stdin)
opts = salt.config.minion_config("/nonexistent", minion_id="es1.example")
opts.update(ask["options"])
opts["grains"] = {"id": "es1.example", "localhost": "es1"}
functions = salt.loader.minion_mods(opts)
returners = salt.loader.returners(opts, functions)
if ask.get("cleans"):
    returners[ask["name"] + ".clean_old_jobs"]()
for ret in ask.get("returns", []):
    returners[ask["name"] + ".returner"](ret)
