/** The options of `saltworks cluster` and `saltworks witness`, commands that Salt does not have. */
import { daemonCommand } from "./daemon-options.ts";
import { generalOptions } from "./general-options.ts";
import { type CommandTable, flag } from "./option.ts";

/** What `saltworks cluster` does. */
export const clusterWords = {
  secret: "Print a new cluster_secret.",
  status: "Show the cluster's servers, and whether enough of them answer.",
} as const;

const clusterOptions = {
  isJson: flag(["--json"], "Print the state as JSON."),
};

export const clusterCommand: CommandTable<typeof generalOptions & typeof clusterOptions> = {
  program: "saltworks cluster",
  usage: `saltworks cluster ${Object.keys(clusterWords).join("|")} [options]`,
  about:
    "Several masters as one. secret: prints a new cluster_secret for the configuration of each member. status: shows the cluster's servers as this machine's member or witness sees them. Exit code 0: the cluster takes changes. 1: too few servers answer. 2: this machine's server cannot be asked.",
  groups: [{ title: "", options: { ...generalOptions, ...clusterOptions } }],
  unavailable: [],
};

export const witnessCommand = daemonCommand(
  "saltworks witness",
  "A server of a cluster without a master: two masters and a witness go on when one of the three is lost. It reads the master's configuration.",
);
