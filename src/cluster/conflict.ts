/** Compare-and-set in NATS: how a conflict looks. */
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";

/** Whether the record was changed since it was read. */
export function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamWrongLastSequence;
}
