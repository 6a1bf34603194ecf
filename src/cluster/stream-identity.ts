/** Which stream of NATS it is, if any: one of the same name that was made anew is another. Pure. */
import { JetStreamApiCodes, JetStreamApiError, type StreamInfo } from "@nats-io/jetstream";

export function identityOf({ config, created }: StreamInfo): string {
  return `${config.name} ${created}`;
}

export function isStreamMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
}

/** A stream of that name is there, with another configuration. */
export function isStreamNameTaken(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === streamNameTaken;
}

/** The server's code, which the client's list lacks. */
const streamNameTaken = 10_058;
