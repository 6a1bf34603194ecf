/** `saltworks master`: a master in the foreground until TERM or Ctrl-C. */
import { hasCode, type SaltworksError } from "../../errors.ts";
import { runMaster } from "../../master/main.ts";
import { startingMasterConfig, understand } from "../command-line.ts";
import type { Host } from "../host.ts";
import { openDaemonLog } from "../log.ts";

/** @returns the exit code */
export async function runMasterCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("master", argv, host);
  const config = startingMasterConfig(options.configDir, host, {
    log_level: options.logLevel,
    log_file: options.logFile,
    log_level_logfile: options.logFileLevel,
  });
  const log = openDaemonLog(
    { consoleLevel: config.log_level, fileLevel: config.log_level_logfile ?? config.log_level, file: config.log_file },
    host,
  );
  for (const warning of config.warnings) log.warn(warning);
  try {
    return await runMaster(config, log);
  } catch (error) {
    if (!hasCode(error, "MASTER_RUNNING") && !hasCode(error, "PORT_UNUSABLE")) throw error;
    for (const line of (error as SaltworksError).message.split("\n")) host.complain(`saltworks master: ${line}\n`);
    return 1;
  }
}
