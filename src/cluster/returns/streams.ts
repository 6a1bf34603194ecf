/** The streams of returns: makes what is missing, and raises lower bounds. */
import { type JetStreamManager, RetentionPolicy, StorageType, type StreamConfig } from "@nats-io/jetstream";
import { nanos } from "@nats-io/nats-core";
import { returnRepeatWindowMs, returnStreamAgeMs, returnStreamBytesMax } from "../../limits.ts";
import { findOrMake } from "../stream-identity.ts";

type Manager = Pick<JetStreamManager, "streams">;

/** @param replicas - servers that keep a copy of each message */
export async function ensureReturnStreams(manager: Manager, names: readonly string[], replicas: number): Promise<void> {
  await Promise.all(names.map((name) => ensureStream(manager, name, replicas)));
}

async function ensureStream(manager: Manager, name: string, replicas: number): Promise<void> {
  const wanted = {
    max_age: nanos(returnStreamAgeMs),
    max_bytes: returnStreamBytesMax,
    duplicate_window: nanos(returnRepeatWindowMs),
    num_replicas: replicas,
  } satisfies Partial<StreamConfig>;
  const { config } = await findOrMake(manager, {
    ...wanted,
    name,
    subjects: [name],
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
  });
  // A later release, or the operator, may have raised a bound. 0 and -1 are without one.
  const lower = Object.entries(wanted).filter(([key, value]) => {
    const now = Number(config[key as keyof StreamConfig]);
    return now > 0 && now < value;
  });
  if (lower.length > 0) await manager.streams.update(name, Object.fromEntries(lower));
}
