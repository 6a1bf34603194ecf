/** Calls of the HTTP API: at planned times, or by users that wait for each answer and think before the next call. */
import { setTimeout as wait } from "node:timers/promises";
import { SaltworksError } from "../../src/errors.ts";
import { draw } from "../load/distribution.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import type { Random } from "../load/random.ts";
import type { OperationResult } from "../results/schema.ts";
import { oneByOne } from "../scenarios/setup/operations.ts";
import { runPlanned } from "./publisher.ts";
import type { ApiOperation } from "./schema.ts";

const callTimeoutMs = 60_000;
/** Calls under way at once; more wait, which counts as the master's time. */
const callsAtOnceMax = 128;

export type ApiSession = { readonly url: string; readonly token: string };

type Span = {
  readonly session: ApiSession;
  readonly startedMs: number;
  readonly signal: AbortSignal;
};

/** `plannedMs`: of a rate. `seconds`: how long users go on. */
export async function callPlanned(
  operation: ApiOperation,
  plannedMs: Float64Array,
  span: Span,
): Promise<OperationResult> {
  const { late, histogram, failed } = await runPlanned(plannedMs, {
    ...{ startedMs: span.startedMs, signal: span.signal, atOnce: callsAtOnceMax },
    work: () => callOnce(operation, span),
  });
  const ended = oneByOne(histogram, performance.now() - span.startedMs, { failed, timedOut: 0 });
  return { ...ended, late, loop: "open" };
}

/** A closed loop: latency counts from the sending of each call. */
export async function callAsUsers(
  operation: ApiOperation,
  { thinkMs, users }: Extract<ApiOperation["pace"], { users: number }>,
  o: Span & { readonly seconds: number; readonly random: Random },
): Promise<OperationResult> {
  const histogram = new LatencyHistogram();
  let failed = 0;
  const endMs = o.startedMs + o.seconds * 1_000;
  // No longer than the stage.
  const think = (): Promise<void> => {
    const leftMs = Math.max(0, endMs - performance.now());
    return wait(Math.min(draw(thinkMs, o.random), leftMs), undefined, { signal: o.signal });
  };
  const user = async (): Promise<void> => {
    // Users do not begin together.
    await think();
    while (performance.now() < endMs) {
      const sentMs = performance.now();
      try {
        await callOnce(operation, o);
        histogram.recordMs(performance.now() - sentMs);
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        failed += 1;
      }
      await think();
    }
  };
  await Promise.all(Array.from({ length: users }, user));
  return oneByOne(histogram, performance.now() - o.startedMs, { failed, timedOut: 0 });
}

/** @throws SaltworksError REQUEST_REFUSED for any answer but a `return` */
async function callOnce({ call }: ApiOperation, { session, signal }: Span): Promise<void> {
  const refused = (why: string) => new SaltworksError("REQUEST_REFUSED", `the API: ${why}`);
  const answer = await fetch(session.url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", "x-auth-token": session.token },
    body: JSON.stringify(call),
    signal: AbortSignal.any([signal, AbortSignal.timeout(callTimeoutMs)]),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw refused((error as Error).message);
  });
  const body = (await answer.json().catch(() => undefined)) as { return?: unknown } | undefined;
  if (!answer.ok || body?.return === undefined) throw refused(`HTTP ${answer.status}`);
}
