/** `saltworks witness`: runs a server of a cluster without a master until TERM or Ctrl-C. */
import { connectCluster } from "../../cluster/connection.ts";
import { nkeyUser } from "../../cluster/server/nkey-user.ts";
import { SaltworksError } from "../../errors.ts";
import { claimInstance } from "../../store/disk/instance-lock.ts";
import { startClusterServer } from "../daemon/cluster-server.ts";
import { runDaemon } from "../daemon/run-daemon.ts";
import type { Host } from "../host/host.ts";
import { understand } from "../start/command-line.ts";
import { masterConfig } from "../start/configuration.ts";

/** @returns the exit code */
export async function runWitness(argv: readonly string[], host: Host): Promise<number> {
  const { options } = understand("witness", argv, host);
  return await runDaemon(
    {
      role: "witness",
      argv,
      options,
      load: masterConfig,
      openFiles: (config) => config.max_open_files,
      run: async (config, log, hooks) => {
        const lock = claimInstance([config.cachedir]);
        const ended = terminationSignal();
        let stop = async () => undefined as unknown;
        try {
          const server = await startClusterServer(config, log);
          if (server === undefined) throw new SaltworksError("CONFIG_INVALID", "a witness needs cluster_id");
          stop = server.stop;
          const { seed } = nkeyUser(server.keys.clientSeed);
          const waitMs = config.cluster_join_timeout * 1_000;
          const connection = await connectCluster({ port: server.clientPort, seed, name: server.member.name, waitMs });
          log.info({ cluster: server.member.clusterId, name: server.member.name }, "the witness is ready");
          hooks.onReady({ answers: async () => void (await connection.nats.rtt()), state: async () => "" });
          log.info({ signal: await ended }, "shutting down");
          hooks.onStopping();
          await connection.close();
          return 0;
        } finally {
          await stop();
          lock.release();
        }
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
