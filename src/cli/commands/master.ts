/** `saltworks master`: runs a master until TERM or Ctrl-C, in the foreground or, with `-d`, in the background. */
import { resolve } from "node:path";
import type { Logger } from "pino";
import { readApiSettings } from "../../config/api-settings.ts";
import type { Overrides } from "../../config/load.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import type { ClusterStart } from "../../master/cluster/cluster.ts";
import { runMaster } from "../../master/main.ts";
import type { OpenedPorts } from "../../master/ports/port-check.ts";
import { withSitePython } from "../../sidecar/availability.ts";
import { enginesOf } from "../daemon/engines.ts";
import { openLowPorts } from "../daemon/low-ports.ts";
import { type DaemonHooks, runDaemon } from "../daemon/run-daemon.ts";
import { WatchedProgram } from "../daemon/watched-program.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";
import { explainRefusal, startingMasterConfig, withSdb } from "../start/configuration.ts";

const refusedExitCode = 1;

/** @returns the exit code */
export async function runMasterCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("master", argv, host);
  // Before the daemon goes to the root directory.
  const configDir = options.configDir === undefined ? undefined : resolve(options.configDir);
  let openedPorts: OpenedPorts = new Map();
  let given: Overrides = {};
  return await runDaemon(
    {
      role: "master",
      argv,
      options,
      load: (configDir, loadingHost, overrides) => {
        given = overrides;
        return startingMasterConfig(configDir, loadingHost, overrides);
      },
      openFiles: (config) => config.max_open_files,
      asRoot: async (config, heard) => {
        openedPorts = await openLowPorts(config).catch(refused(heard));
      },
      run: async (loaded, log, hooks, heard) => {
        const config = await servedByPython(await withSdb(loaded, given, heard, log), log, heard);
        const engines = enginesOf(config, log);
        const api = apiOf(config, configDir, log);
        const onReady: DaemonHooks["onReady"] = (master) => {
          hooks.onReady(master);
          for (const program of [api, ...engines]) program?.start();
        };
        const onStopping = () => {
          hooks.onStopping();
          // Its requests get 503 from now on; the pipe ends it if this process ends first.
          for (const program of [api, ...engines]) void program?.stop();
        };
        const apiRestarts = api === undefined ? undefined : () => api.restarts;
        const startCluster = () => clusterServerOf(config, log);
        const parts = { openedPorts, apiRestarts, startCluster };
        return await runMaster(config, log, { onReady, onStopping, ...parts }).catch(refused(heard));
      },
    },
    host,
  );
}

/** Asks the operator's own Salt for what is not built here. @throws Exit if something is left that refuses the start */
async function servedByPython(config: MasterConfig, log: Logger, heard: Host): Promise<MasterConfig> {
  const served = await withSitePython(config, process.env);
  if (served.told !== undefined) log.info(served.told);
  explainRefusal(served.config, heard);
  return served.config;
}

/** Undefined without `cluster_id`: then nothing of NATS is loaded. */
async function clusterServerOf(config: MasterConfig, log: Logger): Promise<ClusterStart | undefined> {
  if (config.cluster_id === null || config.cluster_id === "") {
    if (config.cluster_nats_servers.length > 0)
      throw new SaltworksError(
        "CONFIG_INVALID",
        "cluster_nats_servers is set without cluster_id, and means nothing then",
      );
    return undefined;
  }
  const { startClusterServer } = await import("../daemon/cluster-server.ts");
  return await startClusterServer(config, log);
}

/** The HTTP API of this master; undefined if the configuration has none. */
function apiOf(config: MasterConfig, configDir: string | undefined, log: Logger): WatchedProgram | undefined {
  if (Object.keys(config.rest_cherrypy).length === 0) return undefined;
  try {
    readApiSettings(config.rest_cherrypy);
  } catch (error) {
    // The API is started all the same: it reads the configuration anew each time.
    log.error((error as Error).message);
  }
  const [, main = ""] = process.argv;
  const place = configDir === undefined ? [] : ["-c", configDir];
  const args = [...process.execArgv, main, "api", ...place];
  return new WatchedProgram({ name: "the HTTP API", command: process.execPath, args, log });
}

/** Explains that another master runs or that a port cannot be used. @throws Exit */
function refused(host: Host): (error: unknown) => never {
  return (error) => {
    if (!hasCode(error, "MASTER_RUNNING") && !hasCode(error, "PORT_UNUSABLE")) throw error;
    for (const line of (error as SaltworksError).message.split("\n")) host.complain(`saltworks master: ${line}\n`);
    throw new Exit(refusedExitCode);
  };
}
