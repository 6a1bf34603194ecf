/** The subcommands with a sentence about each, for help, completion and manual pages. */
export const commandAbouts = {
  master: "Run a master, as salt-master does.",
  minion: "Run a minion, as salt-minion does.",
  api: "Run the HTTP API of this master, as salt-api does.",
  salt: "Run a function on minions, as salt does.",
  key: "List, accept, reject and delete minions' keys, as salt-key does.",
  run: "Run a function on the master, as salt-run does.",
  call: "Run a function on this machine, as salt-call does.",
  cp: "Copy files of this machine to minions, as salt-cp does.",
  top: "Show live what the master does.",
  demo: "Start a master and minions in a directory of their own, and show some jobs.",
  bench: "Measure a master under simulated load, compare results, write reports.",
  tune: "Find worker_threads and batch limits for this machine.",
  size: "Plan cores, memory, disk and settings of a master for a fleet.",
  check: "Report what of a Salt site goes on, changes or ends under this master.",
  "check-store": "Read everything that the master has stored and report damage.",
  completion: "Print a script that completes command lines, for bash, zsh or fish.",
} as const;
