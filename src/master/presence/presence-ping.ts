/** Makes the master's `Presence`. It pings silent minions by a job that is neither stored nor shown on the bus. */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { MasterConfig } from "../../config/schema.ts";
import { presenceRounds } from "../../limits.ts";
import type { WorkerStart } from "../../workers/messages/worker.ts";
import { keepPresencePing } from "../../workers/state/presence-pings.ts";
import type { WorkerPool } from "../../workers/threads/worker-pool.ts";
import { ownJob } from "../publish/own-job.ts";
import type { Publisher } from "../publish/publisher.ts";
import { Presence, type PresenceOptions } from "./presence.ts";

export type PresenceParts = {
  readonly config: MasterConfig;
  readonly start: WorkerStart;
  readonly pool: WorkerPool;
  readonly logger: Logger;
  /** Only in a cluster. */
  readonly sharing: Pick<PresenceOptions, "elsewhere"> | undefined;
};

export function presenceOf({ config, start, pool, logger, sharing }: PresenceParts, publisher: Publisher): Presence {
  const timeoutMs = config.presence_timeout * 1_000;
  const keep = async (jid: string) => {
    keepPresencePing(start, jid);
    await pool.broadcast(() => ({ kind: "presencePing", jid }));
  };
  // Minions answer pings of other members here, too.
  publisher.onTaken(async ({ kind, jid }) => {
    if (kind === "ping" && !start.presencePings.includes(jid)) await keep(jid);
  });
  return new Presence({
    timeoutMs,
    accepted: start.accepted,
    isListed: config.order_masters,
    elsewhere: sharing?.elsewhere,
    ping: async (targets) => {
      // One job id for the whole round: a minion that two targets name answers once.
      const jid = publisher.newJid();
      await keep(jid);
      for (const [index, target] of targets.entries()) {
        // Spread over half of the round, so that answers of a large fleet do not come at once.
        if (index > 0) await wait(timeoutMs / presenceRounds / 2 / targets.length, undefined, { ref: false });
        const named = target.kind === "list" ? target.ids : target.expression;
        const job = ownJob("test.ping", [], named, target.kind, config.user, true);
        // The others of the round are asked all the same.
        await publisher
          .send(job, jid, target.ids)
          .catch((error: unknown) => logger.warn({ err: error }, "presence ping failed"));
      }
    },
    onFault: (error) => logger.warn({ err: error }, "presence ping failed"),
  });
}
