"""Compiles a minion's pillar with the Salt of this Python. Reads options from stdin and writes the pillar as JSON."""
import json
import logging
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

import salt.config
import salt.pillar

asked = json.load(sys.stdin)
root = pathlib.Path(asked["root"])
options = salt.config.DEFAULT_MASTER_OPTS.copy()
options = salt.config.apply_master_config({"root_dir": str(root), "user": "root", "id": "master"}, options)
for directory in ("cachedir", "pki_dir"):
    options[directory] = str(root / directory)
    pathlib.Path(options[directory]).mkdir(parents=True, exist_ok=True)
options.update({"extension_modules": str(root / "ext"), "__role": "master", "optimization_order": [0]})
options.update(asked["options"])
pillar = salt.pillar.Pillar(options, {"id": "web1"}, "web1", None).compile_pillar()
json.dump(pillar, sys.stdout, default=lambda value: {"bytes": list(value)})
