"""Passes returns to one of Salt's own returners. Reads {name, options, returns} as JSON."""
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
returner = salt.loader.returners(opts, functions)[ask["name"] + ".returner"]
for ret in ask["returns"]:
    returner(ret)
