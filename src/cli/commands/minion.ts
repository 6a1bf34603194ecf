/** `saltworks minion`: runs a minion until TERM or Ctrl-C, in the foreground or, with `-d`, in the background. */
import { runMinion } from "../../minion/main.ts";
import { runDaemon } from "../daemon/run-daemon.ts";
import type { Host } from "../host/host.ts";
import { minionExtrasUrl } from "../input/minion-extras.ts";
import { understand } from "../start/command-line.ts";
import { minionConfig } from "../start/configuration.ts";

/** Open files of a minion: enough for sockets to the master, the event bus and pipes to job processes. Salt's minions have no option for this. */
export const minionOpenFiles = 1_024;

/** @returns the exit code */
export async function runMinionCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("minion", argv, host);
  return await runDaemon(
    {
      role: "minion",
      argv,
      options,
      load: minionConfig,
      openFiles: () => minionOpenFiles,
      run: async (config, log, hooks) => await runMinion(config, log, minionExtrasUrl, hooks),
    },
    host,
  );
}
