/** `saltworks master`: a master until TERM or Ctrl-C, in the foreground or, with `-d`, behind. */
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, type SaltworksError } from "../../errors.ts";
import { runMaster } from "../../master/main.ts";
import { startingMasterConfig, understand } from "../command-line.ts";
import { runDaemon } from "../daemon/run-daemon.ts";
import type { Host } from "../host.ts";

/** @returns the exit code */
export async function runMasterCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("master", argv, host);
  return await runDaemon<MasterConfig>(
    {
      role: "master",
      argv,
      isBackgroundWanted: options.isDaemon,
      load: (settled) =>
        startingMasterConfig(options.configDir, settled, {
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
      openFiles: (config) => config.max_open_files,
      run: async (config, log, hooks, heard) => await runMaster(config, log, hooks).catch(alreadyRunning(heard)),
    },
    host,
  );
}

function alreadyRunning(host: Host): (error: unknown) => number {
  return (error) => {
    if (!hasCode(error, "MASTER_RUNNING") && !hasCode(error, "PORT_UNUSABLE")) throw error;
    for (const line of (error as SaltworksError).message.split("\n")) host.complain(`saltworks master: ${line}\n`);
    return 1;
  };
}
