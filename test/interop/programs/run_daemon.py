"""Runs one of Salt's daemons by its own file, unchanged, in an interpreter that remembers the release's own folders of modules.

Usage: PYTHON salt-minion WORD... with the Python of a release. The links beside this file give it the daemons' names, because a command line with
another name would not look like a daemon to those who examine the machine's processes.
"""

import os
import runpy
import sys

from own_folders import remember

remember()
folder = os.path.dirname(sys.executable)
sys.argv[0] = os.path.join(folder, os.path.basename(sys.argv[0]))
sys.path[0] = folder
runpy.run_path(sys.argv[0], run_name="__main__")
