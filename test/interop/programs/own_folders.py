"""Remembers what the loaders of a Salt release found in the release's own folders, which nothing changes while tests run.

Each job of a minion is a process that makes some five loaders, and each loader lists its folders twice: half of the job's CPU time. A process
that is forked has the memory of the first. Folders of other files, such as modules that a master sent, are listed each time.
"""

import math
import os

import salt
import salt.loader.lazy
import salt.utils.entrypoints


def remember():
    """Changes this interpreter's loaders. Results are those of Salt's own code, taken once."""
    loader = salt.loader.lazy.LazyLoader
    list_folders = loader._refresh_file_mapping
    own = os.path.dirname(salt.__file__) + os.sep
    known = {}

    def listed(self):
        folders = tuple(folder for folder in self.module_dirs if os.path.isdir(folder))
        if self.static_modules or not all(folder.startswith(own) for folder in folders):
            list_folders(self)
            return
        options = (self.opts.get(name, True) for name in ("cython_enable", "enable_zip_modules"))
        key = (folders, frozenset(self.disabled), tuple(self.opts["optimization_order"]), *options)
        if key not in known:
            list_folders(self)
            known[key] = (dict(self.file_mapping), dict(self.suffix_map), list(self.suffix_order))
        mapping, suffixes, order = known[key]
        self.file_mapping, self.suffix_map, self.suffix_order = dict(mapping), dict(suffixes), list(order)

    loader._refresh_file_mapping = listed
    # Salt keeps the extensions that packages of its environment declare for half a second.
    salt.utils.entrypoints.iter_entry_points.__wrapped__.expiration = math.inf
