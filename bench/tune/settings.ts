/** The settings of the tuner: the master's options, the values that it tries, and the load that shows a difference. */
import type { OptionTable } from "../../src/config/options/option.ts";
import { masterOptions } from "../../src/config/schema.ts";

export type SettingName =
  | "worker_threads"
  | "batch_max_frames"
  | "batch_max_bytes"
  | "batches_in_flight"
  | "batch_linger_us";
export type Settings = Readonly<Partial<Record<SettingName, number>>>;

/** `closed`: every minion has a request outstanding; throughput decides. `light`: 30 % of that at a fixed rate; CPU decides. */
export type Load = "closed" | "light";

export type Knob = {
  readonly name: SettingName;
  readonly load: Load;
  /** The values besides the default. */
  readonly values: readonly number[];
  readonly quickValues: readonly number[];
};

const kibibyte = 1024;
const table: OptionTable = masterOptions;

/** In this order, each with the settings chosen so far. `worker_threads` has a separate step. */
export const knobs: readonly Knob[] = (
  [
    { name: "batch_max_frames", load: "closed", values: [32, 128, 1_024], quickValues: [64] },
    { name: "batch_max_bytes", load: "closed", values: [64 * kibibyte, 4_096 * kibibyte], quickValues: [] },
    { name: "batches_in_flight", load: "closed", values: [2, 3, 4], quickValues: [2] },
    { name: "batch_linger_us", load: "light", values: [0, 10_000], quickValues: [0] },
  ] satisfies Knob[]
).filter(({ name }) => table[name] !== undefined);

export function defaultOf(name: SettingName): number {
  return Number(table[name]?.default ?? 0);
}

/** 1, 2, 3, 4, then about half more each time, because the curve bends early. */
export function workerCounts(most: number, isQuick: boolean): number[] {
  const all = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256].filter((count) => count <= most);
  if (all.at(-1) !== most) all.push(most);
  if (!isQuick || all.length <= 4) return all;
  // Four numbers determine the curve's coefficients: the ends, and two between them.
  const last = all.length - 1;
  return [...new Set([0, Math.round(last / 3), Math.round((2 * last) / 3), last])].map((index) => all[index] ?? 1);
}
