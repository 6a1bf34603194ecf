/** What the resources of a master are spent on: amounts of each kind of work, in a measured span or in a second of a plan. */
import type { OperationResult } from "../results/schema.ts";
import type { CalibrationRun } from "./calibration.ts";

/**
 * `copies`: publishes times minions that get them. `authsAtOnce`: authentications that come all together. `coldBatches`: see `coldBatchesOf`.
 * `minions`: whose keys, sessions, grains and pillars the master keeps. `connections`: minions with a request and a subscription connection.
 * `busyMasters`: how far the heaps of a busy master are in use. `bulkMasters`: how far the buffers of large returns are in use, at most 1.
 */
export type Term =
  | "returns"
  | "returnBytes"
  | "events"
  | "mineGets"
  | "pillars"
  | "pillarDepths"
  | "auths"
  | "authsAtOnce"
  | "copies"
  | "batches"
  | "coldBatches"
  | "seconds"
  | "freshSeconds"
  | "minionSeconds"
  | "masters"
  | "minions"
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
  const isAuthStorm = scenario === "auth-storm";
  const counted = {
    returns,
    returnBytes: textBytesOf(point.operations.return),
    events: done("event"),
    mineGets: done("mine_get"),
    pillars: done("pillar"),
    auths: isAuthStorm ? 0 : done("auth"),
    authsAtOnce: isAuthStorm ? done("auth") : 0,
    copies: scenario === "ping-all" ? returns : 0,
    seconds: point.wallMs / 1_000,
    minions,
    connections: Math.min(minions, Number(point.parameters.connections) || minions),
  };
  return withDerived(counted, { batches: point.storage?.batches ?? point.storage?.syncs ?? 0, isFresh: true });
}

type Derived =
  | "batches"
  | "coldBatches"
  | "pillarDepths"
  | "freshSeconds"
  | "minionSeconds"
  | "masters"
  | "busyMasters"
  | "bulkMasters";

/** The amounts that follow from what was counted or planned. `isFresh`: the span follows the master's start. */
export function withDerived(
  counted: Omit<Amounts, Derived>,
  { batches, isFresh }: { readonly batches: number; readonly isFresh: boolean },
): Amounts {
  const { seconds, minions, pillars, returnBytes, auths, authsAtOnce } = counted;
  const requestsPerSecond = (requestsOf(counted) + auths + authsAtOnce) / seconds;
  return {
    ...counted,
    batches,
    coldBatches: coldBatchesOf(batches, seconds),
    pillarDepths: pillars * depthOf(minions),
    freshSeconds: isFresh ? freshSecondsOf(seconds) : 0,
    minionSeconds: seconds * minions,
    masters: 1,
    busyMasters: busyOf(requestsPerSecond, isFresh ? seconds : Number.POSITIVE_INFINITY),
    bulkMasters: bulkOf(returnBytes / seconds),
  };
}

/** Requests that come in batches. Authentications have a queue of their own. */
export function requestsOf({
  returns,
  events,
  mineGets,
  pillars,
}: Pick<Amounts, "returns" | "events" | "mineGets" | "pillars">): number {
  return returns + events + mineGets + pillars;
}

/** Of a batch's CPU: batches that come more often find warmer caches and fewer sleeping threads, so that their cost grows slower than their rate. */
const coldExponent = 0.75;

/** Batches by what they cost: a second of them counts as their rate to the power of `coldExponent`. */
export function coldBatchesOf(batches: number, seconds: number): number {
  return batches === 0 || seconds === 0 ? 0 : seconds * (batches / seconds) ** coldExponent;
}

/** A master that has just started and been warmed up still optimizes code and collects garbage for so long, also without requests. */
const freshSecondsMost = 20;

export function freshSecondsOf(seconds: number): number {
  return Math.min(seconds, freshSecondsMost);
}

/** Of a tree with a record of each minion: a write copies a page of each level. */
function depthOf(minions: number): number {
  return Math.log2(1 + minions);
}

/** With fewer requests a second V8 has time to give memory back, the more the longer the master runs. */
const busyRequestsPerSecond = 50;

export function busyOf(requestsPerSecond: number, seconds = Number.POSITIVE_INFINITY): number {
  if (requestsPerSecond === 0) return 0;
  return Math.min(1, Math.max(requestsPerSecond / busyRequestsPerSecond, freshSecondsMost / seconds));
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
