/** The options of commands that Salt does not have, and that have few: `check`, `check-store`, `cluster`, `completion`. */
import { generalOptions } from "./general-options.ts";
import { type CommandTable, flag, text } from "./option.ts";

const checkOptions = {
  isJson: flag(["--json"], "Print the report as JSON, with what is kept."),
  isAll: flag(["--all"], "Show what is kept, too."),
};

export const checkCommand: CommandTable<typeof generalOptions & typeof checkOptions> = {
  program: "saltworks check",
  usage: "saltworks check [options]",
  about:
    "Reads the configuration, roots and directories of a Salt master and reports what goes on, changes or ends if this master takes over: options, renderers of pillar and reactor files, functions that they name, modules in Python, keys and data. It changes nothing, and a master may run. Exit code 0: nothing is lost. 1: something is lost. 2: something could not be read.",
  groups: [{ title: "", options: { ...generalOptions, ...checkOptions } }],
  unavailable: [],
};

const storeOptions = {
  isJson: flag(["--json"], "Print the result as JSON."),
};

export const checkStoreCommand: CommandTable<typeof generalOptions & typeof storeOptions> = {
  program: "saltworks check-store",
  usage: "saltworks check-store [options]",
  about:
    "Reads everything that the master of this machine has stored - jobs and returns, minions' data, pending jobs, batches, tokens, keys, sealed secrets, and the files of jobs and minions that Salt shares - and reports what is whole and what is damaged. Files that it does not read are named as left alone. It changes nothing. The master may run or not. Exit code 0: all is whole. 1: some data is damaged. 2: some data could not be read.",
  groups: [{ title: "", options: { ...generalOptions, ...storeOptions } }],
  unavailable: [],
};

/** What `saltworks cluster` does. */
export const clusterWords = {
  init: "Make this master the first member of a new cluster.",
  join: "Make this master a member of a cluster that another one has begun.",
  leave: "Make this stopped master stand alone again, and the others forget it.",
  check: "Show how the members' versions, options, clocks and files differ.",
  permissions: "Print what a member's user of an operator's own NATS must be allowed.",
  secret: "Print a new cluster_secret.",
  status: "Show the cluster's servers, and whether enough of them answer.",
} as const;

const clusterOptions = {
  id: text(["--id"], "CLUSTER_ID", "init, join, permissions: the cluster's name, the same on each member."),
  peers: text(
    ["--peers"],
    "HOST,HOST",
    "init, join: where the two or four other servers are reached, each as HOST or HOST:PORT.",
  ),
  natsServers: text(
    ["--nats-servers"],
    "HOST,HOST",
    "init, join: use an operator's own NATS at these servers, instead of --peers. Each is HOST, HOST:PORT or tls://HOST:PORT.",
  ),
  natsCredentials: text(["--nats-credentials"], "FILE", "init, join: cluster_nats_credentials, for --nats-servers."),
  natsNkeyFile: text(["--nats-nkey-file"], "FILE", "init, join: cluster_nats_nkey_file, for --nats-servers."),
  natsUser: text(["--nats-user"], "USER", "init, join: cluster_nats_user, for --nats-servers."),
  natsPasswordFile: text(["--nats-password-file"], "FILE", "init, join: cluster_nats_password_file, for --nats-user."),
  natsTlsCa: text(["--nats-tls-ca"], "FILE", "init, join: cluster_nats_tls_ca, for --nats-servers."),
  natsTlsCert: text(["--nats-tls-cert"], "FILE", "init, join: cluster_nats_tls_cert, for --nats-servers."),
  natsTlsKey: text(["--nats-tls-key"], "FILE", "init, join: cluster_nats_tls_key, for --nats-servers."),
  isYes: flag(["-y", "--yes"], "leave: ask no question."),
  isForced: flag(
    ["--force"],
    "leave: leave also if too few servers answer, so that the others go on counting this one.",
  ),
  isJson: flag(["--json"], "status, check: print the answer as JSON."),
};

export const clusterCommand: CommandTable<typeof generalOptions & typeof clusterOptions> = {
  program: "saltworks cluster",
  // All words beside each other would be wider than a terminal.
  usage: "saltworks cluster COMMAND [options]",
  about:
    "Several masters as one. init: writes master.d/cluster.conf with a new secret, and prints what to run on the others. join: asks for the secret on the terminal, or reads it from a pipe, checks it against a peer's server if one can be reached, and writes the same file. leave: needs the master stopped; the other servers forget this one, unless they are those of cluster_nats_servers, which it does not touch. check: compares what the members have of their own. Exit code 0: all alike. 1: something differs. 2: a member could not be asked, or this machine cannot ask. permissions: prints, as JSON for the configuration of nats-server, the subjects that a member of the cluster --id uses on an operator's own NATS. secret: prints a new cluster_secret. status: shows the cluster's servers as this machine's member or witness sees them. Exit code 0: the cluster takes changes. 1: too few servers answer, for the cluster or for one of its streams. 2: no server can be asked: this machine's own, or those of cluster_nats_servers, or this machine is not a member.",
  groups: [{ title: "", options: { ...generalOptions, ...clusterOptions } }],
  unavailable: [],
};

const { isVersionAsked, isHelpAsked } = generalOptions;
const completionOptions = { isVersionAsked, isHelpAsked };

/** The shells with a completion script. */
export const shells = ["bash", "zsh", "fish"] as const;

export const completionCommand: CommandTable<typeof completionOptions> = {
  program: "saltworks completion",
  usage: `saltworks completion ${shells.join("|")}`,
  about:
    "Prints a script with which the shell completes commands, options and their values, minion ids and functions. In ~/.bashrc: source <(saltworks completion bash). In ~/.zshrc, behind compinit: source <(saltworks completion zsh). In ~/.config/fish/config.fish: saltworks completion fish | source",
  groups: [{ title: "", options: completionOptions }],
  unavailable: [],
};
