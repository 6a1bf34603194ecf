/** Makes the master's presence, which pings silent minions by a job that leaves no trace. */
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/schema.ts";
import { keepPresencePing } from "../../workers/holding/presence-pings.ts";
import type { ShardStart } from "../../workers/messages/shard.ts";
import type { ShardPool } from "../../workers/threads/pool.ts";
import { ownJob } from "../publish/own-job.ts";
import type { Publisher } from "../publish/publisher.ts";
import { Presence } from "./presence.ts";

export type PresenceParts = {
  readonly config: MasterConfig;
  readonly start: ShardStart;
  readonly pool: ShardPool;
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
