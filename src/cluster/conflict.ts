/** Compare-and-set in NATS: how a conflict looks. */
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";

/** The second one is the answer while another write of the same record is under way. */
const conflicts: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

/** Whether the record was changed since it was read. */
export function isConflict(error: unknown): boolean {
  return error instanceof JetStreamApiError && conflicts.has(error.code);
}
