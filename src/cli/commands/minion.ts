/** `saltworks minion`: a minion in the foreground until TERM or Ctrl-C. */
import { runMinion } from "../../minion/main.ts";
import { minionConfig, understand } from "../command-line.ts";
import type { Host } from "../host.ts";
import { openDaemonLog } from "../log.ts";
import { minionExtrasUrl } from "../minion-extras.ts";

/** @returns the exit code */
export async function runMinionCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("minion", argv, host);
  const config = minionConfig(options.configDir, host, {
    log_level: options.logLevel,
    log_file: options.logFile,
    log_level_logfile: options.logFileLevel,
  });
  const log = openDaemonLog(
    { consoleLevel: config.log_level, fileLevel: config.log_level_logfile ?? config.log_level, file: config.log_file },
    host,
  );
  return await runMinion(config, log, minionExtrasUrl);
}
