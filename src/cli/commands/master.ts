/** `saltworks master`: runs a master until TERM or Ctrl-C, in the foreground or, with `-d`, in the background. */
import { hasCode, type SaltworksError } from "../../errors.ts";
import { runMaster } from "../../master/main.ts";
import type { OpenedPorts } from "../../master/ports/port-check.ts";
import { openLowPorts } from "../daemon/low-ports.ts";
import { runDaemon } from "../daemon/run-daemon.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";
import { startingMasterConfig } from "../start/configuration.ts";

const refusedExitCode = 1;

/** @returns the exit code */
export async function runMasterCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("master", argv, host);
  let openedPorts: OpenedPorts = new Map();
  return await runDaemon(
    {
      role: "master",
      argv,
      options,
      load: startingMasterConfig,
      openFiles: (config) => config.max_open_files,
      asRoot: async (config, heard) => {
        openedPorts = await openLowPorts(config).catch(refused(heard));
      },
      run: async (config, log, hooks, heard) =>
        await runMaster(config, log, { ...hooks, openedPorts }).catch(refused(heard)),
    },
    host,
  );
}

/** Explains that another master runs or that a port cannot be used. @throws Exit */
function refused(host: Host): (error: unknown) => never {
  return (error) => {
    if (!hasCode(error, "MASTER_RUNNING") && !hasCode(error, "PORT_UNUSABLE")) throw error;
    for (const line of (error as SaltworksError).message.split("\n")) host.complain(`saltworks master: ${line}\n`);
    throw new Exit(refusedExitCode);
  };
}
