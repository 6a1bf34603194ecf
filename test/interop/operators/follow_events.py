"""Prints each event of a master's bus as Salt's own subscriber reads it: `python follow_events.py CONFIG_DIR`."""

import json
import sys

import salt.config
import salt.utils.event

opts = salt.config.client_config(sys.argv[1] + "/master")
bus = salt.utils.event.get_event("master", opts=opts, sock_dir=opts["sock_dir"], listen=True)
bus.connect_pub()
print("following", flush=True)
while True:
    event = bus.get_event(wait=1, full=True, auto_reconnect=True)
    if event is not None:
        returned = event["data"].get("return")
        print(json.dumps([event["tag"], type(returned).__name__, repr(returned)[:200]]), flush=True)
