/** What the resources of a master are spent on: amounts of each kind of work, in a measured span or in a second of a plan. */
import type { OperationResult } from "../results/schema.ts";
import type { CalibrationRun } from "./calibration.ts";

/**
 * `copies`: publishes times minions that get them. `connections`: minions with a request and a subscription connection. `busyMasters`: 1 if
 * requests come. `bulkMasters`: how far the buffers of large returns are in use, at most 1.
 */
export type Term =
  | "returns"
  | "returnBytes"
  | "events"
  | "mineGets"
  | "pillars"
  | "auths"
  | "copies"
  | "batches"
  | "seconds"
  | "minionSeconds"
  | "masters"
  | "connections"
  | "busyMasters"
  | "bulkMasters";
export type Amounts = Readonly<Record<Term, number>>;

/** A return of an empty text on the wire, with its seal and framing: docs/bench.md. */
const emptyReturnBytes = 617;
const usPerSecond = 1e6;

export function amountsOf({ minions, point, scenario }: CalibrationRun): Amounts {
  const done = (name: string): number => point.operations[name]?.completed ?? 0;
  const returns = done("return");
  const seconds = point.wallMs / 1_000;
  const requests = returns + done("event") + done("mine_get") + done("pillar");
  return {
    returns,
    returnBytes: textBytesOf(point.operations.return),
    events: done("event"),
    mineGets: done("mine_get"),
    pillars: done("pillar"),
    auths: done("auth"),
    copies: scenario === "ping-all" ? returns : 0,
    batches: point.storage?.batches ?? point.storage?.syncs ?? 0,
    seconds,
    minionSeconds: seconds * minions,
    masters: 1,
    connections: Math.min(minions, Number(point.parameters.connections) || minions),
    busyMasters: requests > 0 ? 1 : 0,
    bulkMasters: bulkOf(textBytesOf(point.operations.return) / seconds),
  };
}

/** From this rate on more bytes of returns do not need more buffers: they are used again. */
const bulkBytesPerSecond = 1_000_000;

export function bulkOf(returnBytesPerSecond: number): number {
  return Math.min(1, returnBytesPerSecond / bulkBytesPerSecond);
}

/** The text within the returns. The storms of `ping-all` do not tell it, because they return `true`. */
function textBytesOf(operation: OperationResult | undefined): number {
  if (operation?.toMasterBytes === undefined) return 0;
  return Math.max(0, operation.toMasterBytes - operation.completed * emptyReturnBytes);
}

/** Microseconds of CPU of the threads whose name begins so. */
export function threadUs({ point }: CalibrationRun, prefix: string): number {
  const times = Object.entries(point.cpu.byThreadMs).filter(([name]) => name.startsWith(prefix));
  return (times.reduce((sum, [, ms]) => sum + ms, 0) * usPerSecond) / 1_000;
}
