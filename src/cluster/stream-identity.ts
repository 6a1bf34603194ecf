/** Which stream of NATS it is, if any: one of the same name that was made anew is another. Members that make one at the same time get the same. */
import { randomUUID } from "node:crypto";
import {
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";

export function identityOf({ config, created }: StreamInfo): string {
  return `${config.name} ${created}`;
}

export function isStreamMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
}

/**
 * Part of what makes a stream, and different each time, so that of two members that make it at once one is refused. If both succeeded, servers before
 * 2.12.15 and 2.14.5 might tell the second time as that of the stream, after a restart: it would count as made anew.
 */
export function makerMark(): { readonly metadata: Record<string, string> } {
  return { metadata: { saltworks_maker: randomUUID() } };
}

/** Opens again what another member made since this one looked. `open` looks first, and makes what it does not find with `makerMark`. */
export async function openOrFind<Result>(open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === streamNameTaken)) throw error;
    return await open();
  }
}

/** Returns the stream. Makes it if there is none. @throws what NATS throws */
export function findOrMake(
  { streams }: Pick<JetStreamManager, "streams">,
  config: Partial<StreamConfig> & { readonly name: string },
): Promise<StreamInfo> {
  return openOrFind(async () => {
    try {
      return await streams.info(config.name);
    } catch (error) {
      if (!isStreamMissing(error)) throw error;
    }
    return await streams.add({ ...config, ...makerMark() });
  });
}

/** The server's code for a stream that is there with another configuration. The client's list lacks it. */
const streamNameTaken = 10_058;
