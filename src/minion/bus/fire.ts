/** The sockets of a minion's bus, and firing on it from another process of this machine. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { MinionConfig } from "../../config/schema.ts";
import { fireEvents } from "../../transport/event-stream-client.ts";
import { encodeEvent } from "../../wire/event.ts";
import type { Encodable } from "../../wire/values.ts";
import { now, stampText } from "../functions/clock-text.ts";

export type BusPlace = Pick<MinionConfig, "id" | "sock_dir" | "hash_type">;

export function busPaths(config: BusPlace): { pub: string; pull: string } {
  const digest = createHash(config.hash_type).update(config.id).digest("hex").slice(0, 10);
  return {
    pub: join(config.sock_dir, `minion_event_${digest}_pub.ipc`),
    pull: join(config.sock_dir, `minion_event_${digest}_pull.ipc`),
  };
}

/**
 * Fires on the bus of a minion that runs as another process. The bus accepts connections in order, so a reader that this process connected
 * before gets the answer. A message that reaches the minion another way may arrive before the reader is connected.
 *
 * @throws SaltworksError MASTER_UNREACHABLE if no minion runs
 */
export async function fireOnBus(config: BusPlace, tag: string, data: Encodable): Promise<void> {
  await fireEvents(busPaths(config).pull, [stampedEvent(tag, data)]);
}

/** Encodes an event with the time in `_stamp`, as in Salt's events. */
export function stampedEvent(tag: string, data: Encodable): Uint8Array {
  const members = data instanceof Map ? data : new Map(Object.entries(data ?? {}));
  return encodeEvent(tag, new Map([...members, ["_stamp", stampText(now())]]));
}
