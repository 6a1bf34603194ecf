/** The options of `saltworks master`, `saltworks minion`, `saltworks api` and `saltworks witness`. Source: Salt's own `--help` for names, groups and order. */
import { generalOptions, logFileOptions, loggingAbout, logLevelOption } from "./general-options.ts";
import { type CommandTable, flag, text } from "./option.ts";

/** The options that only daemons have. */
const daemonOptions = {
  user: text(
    ["-u", "--user"],
    "USER",
    "Become this user, instead of the configured one, after all work that needs root.",
  ),
  isDaemon: flag(["-d", "--daemon"], "Run in the background. The command returns when the daemon is up or has failed."),
  pidFile: text(["--pid-file"], "PIDFILE", "Write the process id to this file, instead of the configured one."),
  isAlone: flag(
    ["--disable-keepalive"],
    "Do not restart the daemon when it ends. It never restarts by itself, so that this changes nothing.",
  ),
};

type DaemonOptions = typeof generalOptions &
  typeof daemonOptions &
  ReturnType<typeof logLevelOption> &
  typeof logFileOptions;

function daemonCommand(program: string, about: string): CommandTable<DaemonOptions> {
  return {
    program,
    usage: `${program} [options]`,
    about,
    groups: [
      { title: "", options: { ...generalOptions, ...daemonOptions } },
      { title: "Logging Options", about: loggingAbout, options: { ...logLevelOption(), ...logFileOptions } },
    ],
    unavailable: [],
  };
}

export const masterCommand = daemonCommand(
  "salt-master",
  "The master, which minions connect to and operators send jobs through.",
);
export const minionCommand = daemonCommand(
  "salt-minion",
  "The minion, which runs the jobs of its master on this machine.",
);
export const apiCommand = daemonCommand(
  "saltworks api",
  "The HTTP API, through which programs send jobs and read events.",
);
export const witnessCommand = daemonCommand(
  "saltworks witness",
  "A server of a cluster without a master: two masters and a witness go on when one of the three is lost. It reads the master's configuration.",
);
