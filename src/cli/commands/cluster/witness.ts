/** `saltworks witness`: runs a server of a cluster without a master until TERM or Ctrl-C. */
import type { MasterConfig } from "../../../config/schema.ts";
import { SaltworksError } from "../../../errors.ts";
import { runWitness } from "../../../master/cluster/witness.ts";
import { startClusterServer } from "../../daemon/cluster-server.ts";
import { runDaemon } from "../../daemon/run-daemon.ts";
import type { Host } from "../../host/host.ts";
import { understand } from "../../start/command-line.ts";
import { masterConfig } from "../../start/configuration.ts";

/** @returns the exit code */
export async function runWitnessCommand(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("witness", argv, host);
  return await runDaemon(
    {
      role: "witness",
      argv,
      options,
      load: witnessConfig,
      openFiles: (config) => config.max_open_files,
      run: (config, log, hooks) => {
        const startCluster = () => startClusterServer(config, log);
        return runWitness(config, log, { ...hooks, startCluster, ended: terminationSignal() });
      },
    },
    host,
  );
}

/** @throws SaltworksError CONFIG_INVALID with an operator's own NATS, which has servers enough */
function witnessConfig(...given: Parameters<typeof masterConfig>): MasterConfig {
  const config = masterConfig(...given);
  if (config.cluster_nats_servers.length === 0) return config;
  const why = "cluster_nats_servers is set: a witness runs a server, and the members use those of an operator instead";
  throw new SaltworksError("CONFIG_INVALID", why);
}

function terminationSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve(signal));
  });
}
