/** The options of `saltworks master` and `saltworks minion`. Source: Salt's own `--help` of both for names, groups and order. */
import { generalOptions, logFileOptions, loggingAbout, logLevelOption } from "./general-options.ts";
import type { CommandTable } from "./option.ts";

type DaemonOptions = typeof generalOptions & ReturnType<typeof logLevelOption> & typeof logFileOptions;

function daemonCommand(program: string, about: string): CommandTable<DaemonOptions> {
  return {
    program,
    usage: `${program} [options]`,
    about,
    groups: [
      { title: "", options: generalOptions },
      { title: "Logging Options", about: loggingAbout, options: { ...logLevelOption(), ...logFileOptions } },
    ],
    unavailable: [["-u", "--user"], ["-d", "--daemon"], ["--pid-file"], ["--disable-keepalive"]],
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
