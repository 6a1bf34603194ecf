/** Ids of a fleet's minions, and of the processes that hold them. */
import type { ChildProcess } from "node:child_process";

/** Of simulated minions. */
export const idPrefixDefault = "sim-";

export function fleetIds(fleet: {
  readonly idPrefix: string;
  readonly firstIndex: number;
  readonly minionCount: number;
}): string[] {
  return Array.from({ length: fleet.minionCount }, (_, index) => `${fleet.idPrefix}${fleet.firstIndex + index}`);
}

/** Leaves out processes that did not start. */
export function processIdsOf(members: readonly { readonly child: ChildProcess }[]): number[] {
  return members.flatMap(({ child }) => (child.pid === undefined ? [] : [child.pid]));
}
