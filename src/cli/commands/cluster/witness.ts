/** `saltworks witness`: runs a server of a cluster without a master until TERM or Ctrl-C. */
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
      load: masterConfig,
      openFiles: (config) => config.max_open_files,
      run: (config, log, hooks) => {
        const startCluster = () => startClusterServer(config, log);
        return runWitness(config, log, { ...hooks, startCluster, ended: terminationSignal() });
      },
    },
    host,
  );
}

function terminationSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve(signal));
  });
}
