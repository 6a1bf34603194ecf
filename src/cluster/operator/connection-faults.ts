/** Says what an operator's own NATS servers refuse while a member uses them. */
import { JetStreamApiError } from "@nats-io/jetstream";
import type { Logger } from "pino";
import { natsFaultLogMs } from "../../limits.ts";
import type { ClusterConnection } from "../connection.ts";

/** Codes of the server for too few servers with JetStream, or with room. Sources: nats-server, server/errors.json. */
const tooFewCodes: ReadonlySet<number> = new Set([10_005, 10_047, 10_074]);

/** Tells what the operator can do about a stream that cannot be made. */
export function explained(error: unknown): unknown {
  if (!(error instanceof JetStreamApiError) || !tooFewCodes.has(error.code)) return error;
  const text = "three of the NATS servers need JetStream, and room for the cluster's streams";
  return new Error(`${error.message} (${text}: docs/cluster.md, "A NATS of your own")`, { cause: error });
}

/**
 * Logs refusals, such as of credentials that have ended or of a subject that the user may not use, until the connection ends. The same one is logged each
 * `natsFaultLogMs` at most.
 */
export function tellFaults({ nats }: Pick<ClusterConnection, "nats">, logger: Pick<Logger, "error" | "warn">): void {
  let last = { text: "", atMs: Number.NEGATIVE_INFINITY };
  const follow = async () => {
    for await (const status of nats.status()) {
      if (status.type === "disconnect") logger.warn({ server: status.server }, "the connection to NATS is lost");
      if (status.type !== "error") continue;
      const text = status.error.message;
      const nowMs = performance.now();
      if (text === last.text && nowMs - last.atMs < natsFaultLogMs) continue;
      last = { text, atMs: nowMs };
      logger.error({ err: status.error }, "NATS refuses what this member asks for");
    }
  };
  void follow();
}
