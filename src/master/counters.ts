/** One view of every counter of the master: main thread, each worker, each queue. Numbers and names only, never contents. */
import type { ShardCounters } from "../workers/messages.ts";
import type { ShardPool } from "../workers/pool.ts";

export type CounterSource = () => Readonly<Record<string, number>>;
/** What a worker answers: its counters, and the faults since it was last asked. */
export type WorkerCounters = { readonly counters: ShardCounters; readonly faults: readonly string[] };

export type GatheredCounters = {
  readonly main: Readonly<Record<string, number>>;
  readonly workers: readonly Readonly<Record<string, number>>[];
};

export async function gatherCounters(
  main: Readonly<Record<string, CounterSource>>,
  pool: ShardPool,
  onFault: (slot: number, fault: string) => void,
): Promise<GatheredCounters> {
  const gathered: Record<string, number> = {};
  for (const [part, source] of Object.entries(main)) {
    for (const [name, value] of Object.entries(source())) gathered[part === "" ? name : `${part}.${name}`] = value;
  }
  const workers = await pool.broadcast<WorkerCounters>(() => ({ kind: "counters" }));
  for (const [slot, worker] of workers.entries()) for (const fault of worker.faults) onFault(slot, fault);
  return { main: gathered, workers: workers.map((worker) => ({ ...worker.counters })) };
}
