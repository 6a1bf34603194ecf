/** What a result was measured with besides the scenario's parameters: the workload file, the master's place and its settings. Pure. */
import { createHash } from "node:crypto";
import type { RunResult } from "../results/schema.ts";
import { formatValue } from "./format.ts";

/** Enough to tell the files of one site apart. */
const hashDigits = 8;
/** Directories that the bench makes for one run have another name in each. */
const ownDirectory = /\/saltworks-[^/",]+/g;

/** The value of each condition as text. */
export type Conditions = {
  readonly values: ReadonlyMap<string, string>;
  /** All settings that are not in `values` have their defaults. Else only the settings that the bench gave are known. */
  readonly isWhole: boolean;
};

export function conditionsOf({ scenario: { source }, master }: RunResult): Conditions {
  const { address, cluster, config, settings } = master;
  const values = new Map<string, string>();
  if (source !== undefined)
    values.set("workload file", createHash("sha256").update(source).digest("hex").slice(0, hashDigits));
  if (address !== undefined) values.set("address", address);
  if (cluster !== undefined) {
    values.set("members", String(cluster.members));
    values.set("nats-server", cluster.natsServer);
  }
  for (const [name, value] of Object.entries({ ...config, ...settings }))
    values.set(name, formatValue(value).replaceAll(ownDirectory, "/…"));
  return { values, isWhole: settings !== undefined };
}

/** Undefined: the result does not say it. */
export function conditionIn({ values, isWhole }: Conditions, name: string): string | undefined {
  const value = values.get(name);
  if (value !== undefined) return value;
  if (name === "workload file") return "none";
  if (name === "members" || name === "nats-server") return "none";
  if (name === "address") return "a master of the bench";
  return isWhole ? "its default" : undefined;
}

/** Names of the conditions in which at least two of the results differ, as far as they say them. */
export function differingConditions(all: readonly Conditions[]): string[] {
  const names = new Set(all.flatMap(({ values }) => [...values.keys()]));
  return [...names].filter((name) => new Set(all.flatMap((own) => conditionIn(own, name) ?? [])).size > 1);
}
