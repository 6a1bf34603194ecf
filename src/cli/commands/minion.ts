/** `saltworks minion`: a minion until TERM or Ctrl-C, in the foreground or, with `-d`, behind. */
import type { MinionConfig } from "../../config/schema.ts";
import { runMinion } from "../../minion/main.ts";
import { minionConfig, understand } from "../command-line.ts";
import { runDaemon } from "../daemon/run-daemon.ts";
import type { Host } from "../host.ts";
import { minionExtrasUrl } from "../minion-extras.ts";

/** Sockets to a master, a bus and pipes to job processes: Salt's minions have no option for it. */
const openFiles = 1_024;

/** @returns the exit code */
export async function runMinionCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("minion", argv, host);
  return await runDaemon<MinionConfig>(
    {
      role: "minion",
      argv,
      isBackgroundWanted: options.isDaemon,
      load: (settled) =>
        minionConfig(options.configDir, settled, {
          log_level: options.logLevel,
          log_file: options.logFile,
          log_level_logfile: options.logFileLevel,
          user: options.user,
          pidfile: options.pidFile,
        }),
      directories: ({ pki_dir, cachedir, sock_dir }) => [
        { path: pki_dir, mode: 0o700 },
        { path: cachedir, mode: 0o755 },
        { path: sock_dir, mode: 0o755 },
      ],
      openFiles: () => openFiles,
      run: async (config, log, hooks) => await runMinion(config, log, minionExtrasUrl, hooks),
    },
    host,
  );
}
