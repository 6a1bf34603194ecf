"""Writes jobs with the returner local_cache of the Salt that runs this, and prints what it wrote, a line of JSON for each job."""
import datetime
import json
import sys

import salt.config
import salt.loader

cachedir, count = sys.argv[1], int(sys.argv[2])
opts = salt.config.master_config(None)
opts.update(cachedir=cachedir, hash_type="sha256", keep_jobs_seconds=0, job_cache=True)
returner = salt.loader.returners(opts, {})
first = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=count + 60)
for index in range(count):
    jid = (first + datetime.timedelta(seconds=index)).strftime("%Y%m%d%H%M%S") + f"{index % 1000000:06d}"
    minions = [f"web{at}" for at in range(1 + index % 2)]
    value = {"index": index, "text": "grüße \U0001f9c2", "list": [1.5, None, True], "out": "x" * (index % 500)}
    load = {"jid": jid, "fun": "test.arg", "arg": [index], "tgt": "*", "tgt_type": "glob", "user": "root", "ret": ""}
    returner["local_cache.prep_jid"](passed_jid=jid)
    returner["local_cache.save_load"](jid, load, minions=minions)
    for minion in minions:
        returned = {"jid": jid, "id": minion, "fun": "test.arg", "return": value, "retcode": 0, "success": True}
        returner["local_cache.returner"](returned)
    print(json.dumps({"jid": jid, "returns": {minion: value for minion in minions}}))
