/** The settings of a master that runs, as it has them: what a planner must copy to get the same figures. */
import { isDeepStrictEqual } from "node:util";
import type { OptionTable } from "../../../src/config/options/option.ts";
import { masterOptions } from "../../../src/config/schema.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import type { MasterUnderTest } from "./master-contract.ts";

/** Options that decide cost, always shown. All others are shown if they differ from their defaults. */
const decisive: ReadonlySet<string> = new Set([
  "worker_threads",
  "store_shards",
  "batch_max_frames",
  "batch_max_bytes",
  "batches_in_flight",
  "batch_linger_us",
  "worker_heap_mb",
  "rsa_threads",
  "queue_max_bytes",
  "job_cache",
  "job_cache_durability",
  "master_job_cache",
  "keep_jobs_seconds",
  "minimum_auth_version",
] satisfies (keyof typeof masterOptions)[]);

/** Options of the place, which the bench chooses anew for each master. Paths are left out, too. */
const ofPlace: ReadonlySet<string> = new Set([
  "interface",
  "ret_port",
  "publish_port",
  "metrics_port",
  "root_dir",
  "user",
  "id",
  "cluster_peers",
  "cluster_pool_port",
] satisfies (keyof typeof masterOptions)[]);

/** Shown instead of secrets by the master. */
const hidden = "**********";
const table: OptionTable = masterOptions;

/**
 * Of our master: asked of the running program, so that computed values such as `worker_threads` are in it. Undefined for others, whose
 * result has the configuration that they were given.
 */
export async function effectiveSettings(
  master: Pick<MasterUnderTest, "kind" | "client" | "reach">,
): Promise<Record<string, unknown> | undefined> {
  if (master.kind !== "saltworks" || master.reach?.publishes === false) return undefined;
  const client = master.client();
  try {
    const values = await client.wheel("config.values");
    return values instanceof Map ? notableSettings(values) : undefined;
  } finally {
    client.close();
  }
}

/** In the order of the options' table. */
export function notableSettings(values: ReadonlyMap<unknown, Value>): Record<string, unknown> {
  const notable = Object.entries(table).flatMap(([name, option]) => {
    const value = plain(values.get(name));
    if (value === undefined || value === hidden || option.isPath === true || ofPlace.has(name)) return [];
    return decisive.has(name) || !isDeepStrictEqual(value, option.default) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(notable);
}

function plain(value: Value | undefined): unknown {
  if (value instanceof Float) return value.value;
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, member]) => [String(key), plain(member)]));
  return value;
}
