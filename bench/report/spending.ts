/** What an operation costs besides CPU, as cells for the terminal and the page: bytes to the disk, syncs, growth of the cache, network. */
import type { Point } from "../results/schema.ts";
import { formatNumber } from "./format.ts";
import type { Run } from "./runs.ts";

export const spendingHeadings = [
  "written B/op",
  "syncs/op",
  "cache B/op",
  "cache GB/day at this rate",
  "to master B/op",
  "from master B/op",
];

const gigabyte = 1e9;
const unknown = "not known";

export function hasSpending({ storage, network }: Point): boolean {
  return storage !== undefined || network !== undefined;
}

/** Cells beneath `spendingHeadings`. Salt does not count its syncs, so that they are not known. */
export function spendingCells({ point: { storage, network } }: Pick<Run, "point">): string[] {
  const day = storage?.cacheBytesPerDay;
  return [
    storage?.writtenBytesPerOperation,
    storage?.syncsPerOperation,
    storage?.cacheBytesPerOperation,
    day === undefined ? undefined : day / gigabyte,
    network?.toMasterBytesPerOperation,
    network?.fromMasterBytesPerOperation,
  ].map((value) => (value === undefined ? unknown : formatNumber(value)));
}
