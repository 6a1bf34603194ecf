/** A witness of a cluster: a server without a master. */
import type { Logger } from "pino";
import { connectCluster, noteLoss } from "../../cluster/connection.ts";
import { answerLikeness } from "../../cluster/likeness/answers.ts";
import { ServerWatch } from "../../cluster/server-watch.ts";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { claimInstance } from "../../store/disk/instance-lock.ts";
import type { ClusterStart } from "./cluster.ts";

export type WitnessHooks = {
  readonly startCluster: () => Promise<ClusterStart | undefined>;
  /** Called when the server takes connections. */
  readonly onReady: (witness: { readonly answers: () => Promise<void>; readonly state: () => Promise<string> }) => void;
  readonly onStopping: () => void;
  /** Resolves with the signal that ends the witness. */
  readonly ended: Promise<string>;
};

/**
 * Runs the server until the end is asked for.
 *
 * @returns the exit code
 * @throws SaltworksError CONFIG_INVALID without `cluster_id`, MASTER_RUNNING if a master or witness has the directory, CLUSTER_UNAVAILABLE if the
 * server does not come up, or the connection to it is lost for good
 */
export async function runWitness(config: MasterConfig, logger: Logger, hooks: WitnessHooks): Promise<number> {
  const lock = claimInstance([config.cachedir]);
  let stop = async (): Promise<void> => undefined;
  try {
    const server = await hooks.startCluster();
    if (server === undefined) throw new SaltworksError("CONFIG_INVALID", "a witness needs cluster_id");
    stop = server.stop;
    const { clusterId, name } = server.member;
    const waitMs = config.cluster_join_timeout * 1_000;
    const ending = new AbortController();
    void hooks.ended.then(() => ending.abort());
    const connection = await connectCluster({
      ...server.access,
      ...{ name, waitMs },
      signal: ending.signal,
    });
    const { nats, close } = connection;
    const lost = new Promise<never>((_, reject) =>
      noteLoss(connection, ending.signal, (err) => {
        logger.fatal({ err }, "the witness cannot go on");
        reject(err);
      }),
    );
    const watch = new ServerWatch({ ...server.watched, member: name, logger });
    watch.start();
    answerLikeness({ nats, clusterId, member: name, role: "witness" });
    logger.info({ cluster: clusterId, name }, "the witness is ready");
    hooks.onReady({ answers: async () => void (await nats.rtt()), state: async () => "" });
    logger.info({ signal: await Promise.race([hooks.ended, lost]) }, "shutting down");
    hooks.onStopping();
    await watch.close();
    await close();
    return 0;
  } finally {
    await stop();
    lock.release();
  }
}
