/** Applies a change of grains to grains in memory. */
import type { ValueMap } from "../../wire/values.ts";
import type { GrainsChange } from "./module-contract.ts";

export function applyTo(grains: ValueMap, { set, removed }: GrainsChange): void {
  for (const [name, value] of set) grains.set(name, value);
  for (const name of removed) grains.delete(name);
}
