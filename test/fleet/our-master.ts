/** Our master as a program, for tests that drive it from outside. */
import { fileURLToPath } from "node:url";
import { descriptorsForMaster } from "../../bench/fleet/descriptors.ts";
import type { Fleet } from "../../bench/fleet/fleet.ts";
import type { LocalClient } from "../../bench/local-client.ts";
import { MasterProcess } from "../../bench/master-process.ts";
import type { ValueMap } from "../../src/wire/values.ts";

export const cliFile = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));

export function startOurMaster(minionCount: number, config: Readonly<Record<string, unknown>>): Promise<MasterProcess> {
  return MasterProcess.start({
    command: [process.execPath, cliFile, "master"],
    config: { log_level: "warning", worker_threads: 2, ...config },
    descriptors: descriptorsForMaster(minionCount),
  });
}

/** Ends everything that a suite started, also after a failed start. */
export async function closeSite(
  fleets: readonly Fleet[] | undefined,
  master: MasterProcess | undefined,
): Promise<void> {
  await Promise.all((fleets ?? []).map((fleet) => fleet.close()));
  await master?.remove();
}

type Numbers = ReadonlyMap<string, number>;
export type Counters = { readonly main: Numbers; readonly workers: readonly Numbers[] };

/** The master's counters, from wheel `saltworks.counters`. */
export async function readCounters(client: LocalClient): Promise<Counters> {
  const counters = (await client.wheel("saltworks.counters")) as ValueMap;
  return { main: counters.get("main") as unknown as Numbers, workers: counters.get("workers") as unknown as Numbers[] };
}

/** The sum of all counters with a matching name, over main thread and workers. */
export function sumOf(counters: Counters, name: RegExp): number {
  return [counters.main, ...counters.workers]
    .flatMap((part) => [...part])
    .reduce((sum, [key, value]) => (name.test(key) ? sum + value : sum), 0);
}
