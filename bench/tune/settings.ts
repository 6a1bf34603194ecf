/** What the tuner varies: the options of the master, the values that it tries, and under which load they differ. */
import type { OptionTable } from "../../src/config/options/option.ts";
import { masterOptions } from "../../src/config/schema.ts";

export type SettingName =
  | "worker_threads"
  | "batch_max_frames"
  | "batch_max_bytes"
  | "batches_in_flight"
  | "batch_linger_us";
export type Settings = Readonly<Partial<Record<SettingName, number>>>;

/** `closed`: every minion has a request outstanding, throughput counts. `light`: a third of that at a fixed rate, cost counts. */
export type Load = "closed" | "light";

export type Knob = {
  readonly name: SettingName;
  readonly load: Load;
  /** Beside the default. */
  readonly values: readonly number[];
  readonly quickValues: readonly number[];
};

const kibibyte = 1024;
const table: OptionTable = masterOptions;

/** In the order in which they are decided: each with those before it as chosen. `worker_threads` has its own step. */
export const knobs: readonly Knob[] = (
  [
    { name: "batch_max_frames", load: "closed", values: [32, 128, 1_024], quickValues: [64] },
    { name: "batch_max_bytes", load: "closed", values: [64 * kibibyte, 4_096 * kibibyte], quickValues: [] },
    { name: "batches_in_flight", load: "closed", values: [2, 3, 4], quickValues: [2] },
    { name: "batch_linger_us", load: "light", values: [200, 1_000], quickValues: [500] },
  ] satisfies Knob[]
).filter(({ name }) => table[name] !== undefined);

export function defaultOf(name: SettingName): number {
  return Number(table[name]?.default ?? 0);
}

/** 1, 2, 3, 4, then about every half more: the curve bends early. */
export function workerCounts(most: number, isQuick: boolean): number[] {
  const all = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256].filter((count) => count <= most);
  if (all.at(-1) !== most) all.push(most);
  if (!isQuick || all.length <= 4) return all;
  // Four tell the curve's coefficients: the ends, and two between them.
  const last = all.length - 1;
  return [...new Set([0, Math.round(last / 3), Math.round((2 * last) / 3), last])].map((index) => all[index] ?? 1);
}
