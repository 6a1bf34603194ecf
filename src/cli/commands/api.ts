/** `saltworks api`: runs the HTTP API of this machine's master until TERM or Ctrl-C, as salt-api does. */
import { runApi } from "../../api/main.ts";
import type { Overrides } from "../../config/load.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import { runDaemon } from "../daemon/run-daemon.ts";
import { endWithWatcher } from "../daemon/watched-program.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";
import { masterConfig } from "../start/configuration.ts";

/** The master's options, with the process id file and the log of the API. */
function apiConfig(configDir: string | undefined, host: Host, overrides: Overrides): MasterConfig {
  const { pidfile, log_file: logFile, ...others } = overrides;
  const named = { ...others, api_pidfile: pidfile, api_logfile: logFile };
  const config = masterConfig(configDir, host, named);
  return { ...config, pidfile: config.api_pidfile, log_file: config.api_logfile };
}

/** @returns the exit code */
export async function runApiCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("api", argv, host);
  const isWatched = endWithWatcher(process.env);
  return await runDaemon(
    {
      role: "api",
      argv,
      options,
      load: apiConfig,
      openFiles: (config) => config.max_open_files,
      run: async (config, log, hooks) => {
        try {
          return await runApi(config, log, hooks);
        } catch (error) {
          // Standard error is the master's, which is nothing for a master in the background.
          if (isWatched) log.fatal(error instanceof SaltworksError ? error.message : { err: error });
          throw error;
        }
      },
    },
    host,
  );
}
