/** Makes the master's `Presence`. It pings silent minions by a job that is neither stored nor shown on the bus. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/schema.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { keepPresencePing } from "../../workers/state/presence-pings.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { ownJob } from "../publish/own-job.ts";
import type { Publisher } from "../publish/publisher.ts";
import { Presence } from "./presence.ts";

export type PresenceParts = {
  readonly config: MasterConfig;
  readonly start: WorkerStart;
  readonly pool: WorkerPool;
  readonly logger: Logger;
};

export function presenceOf({ config, start, pool, logger }: PresenceParts, publisher: Publisher): Presence {
  return new Presence({
    timeoutMs: config.presence_timeout * 1_000,
    accepted: start.accepted,
    ping: async (ids) => {
      const jid = publisher.newJid();
      keepPresencePing(start, jid);
      await pool.broadcast(() => ({ kind: "presencePing", jid }));
      await publisher.publish({ ...ownJob("test.ping", [], [...ids], "list", config.user, true), jid });
    },
    onFault: (error) => logger.warn({ err: error }, "presence ping failed"),
  });
}
