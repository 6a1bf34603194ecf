/** Publishes planned jobs at their times, in an open loop, and records how long each publish took. */
import { SaltworksError } from "../../src/errors.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import { lateMs, Pacer } from "../load/open-loop.ts";
import type { LocalClient } from "../local-client.ts";
import type { OperationResult } from "../results/schema.ts";
import { oneByOne } from "../scenarios/setup/operations.ts";
import type { PlannedJob } from "./jobs.ts";

/** Publishes under way at once; more wait, which counts as the master's time. */
const clientsMax = 16;

/** Runs `work` for each planned time; later ones wait while `atOnce` are under way. Resolves when all have ended. `startedMs`: as `performance.now()`. */
export function runPlanned(
  plannedMs: Float64Array,
  o: {
    readonly startedMs: number;
    readonly atOnce: number;
    readonly signal: AbortSignal;
    readonly work: (index: number, place: number) => Promise<void>;
  },
): Promise<{ readonly late: number; readonly histogram: LatencyHistogram; readonly failed: number }> {
  const histogram = new LatencyHistogram();
  const free = Array.from({ length: o.atOnce }, (_, place) => place);
  const waiting: number[] = [];
  let [late, failed, ended] = [0, 0, 0];
  const nowMs = () => performance.now() - o.startedMs;
  return new Promise((resolve, reject) => {
    let pacer: Pacer | undefined;
    const end = (): void => {
      pacer?.stop();
      o.signal.removeEventListener("abort", end);
      resolve({ late, histogram, failed });
    };
    const begin = (index: number, place: number): void => {
      o.work(index, place)
        .then(
          () => histogram.recordMs(nowMs() - (plannedMs[index] ?? 0)),
          (error: unknown) => {
            failed += 1;
            // After an abort every answer is lost.
            if (error instanceof SaltworksError || o.signal.aborted) return;
            pacer?.stop();
            reject(error);
          },
        )
        .finally(() => {
          ended += 1;
          const next = waiting.shift();
          if (next === undefined) free.push(place);
          else begin(next, place);
          if (ended === plannedMs.length) end();
        });
    };
    if (plannedMs.length === 0 || o.signal.aborted) return end();
    o.signal.addEventListener("abort", end, { once: true });
    pacer = new Pacer(plannedMs, o.startedMs, (index) => {
      if (nowMs() - (plannedMs[index] ?? 0) > lateMs) late += 1;
      const place = free.pop();
      if (place === undefined) waiting.push(index);
      else begin(index, place);
    });
  });
}

/** `connect`: opens a client for one publish at a time. `onPublished`: called once for each job; `lateMs` is undefined if its publish failed. */
export async function publishPlanned(
  jobs: readonly PlannedJob[],
  fun: string,
  o: {
    readonly connect: () => LocalClient;
    readonly startedMs: number;
    readonly signal: AbortSignal;
    readonly onPublished: (job: number, lateMs: number | undefined) => void;
  },
): Promise<OperationResult> {
  const clients: LocalClient[] = [];
  const open = new Set(jobs.keys());
  const end = (index: number, lateMs: number | undefined): void => {
    if (open.delete(index)) o.onPublished(index, lateMs);
  };
  try {
    while (clients.length < Math.min(clientsMax, jobs.length)) clients.push(o.connect());
    const plannedMs = Float64Array.from(jobs, ({ atMs }) => atMs);
    const { startedMs, signal } = o;
    const work = async (index: number, place: number): Promise<void> => {
      const job = jobs[index];
      if (job === undefined) return;
      try {
        await clients[place]?.publish(job.target.expression, fun, [], job.target.kind, job.jid);
      } catch (error) {
        end(index, undefined);
        throw error;
      }
      end(index, Math.max(0, performance.now() - startedMs - job.atMs));
    };
    const { late, histogram, failed } = await runPlanned(plannedMs, {
      startedMs,
      signal,
      atOnce: clients.length,
      work,
    });
    return { ...oneByOne(histogram, performance.now() - startedMs, { failed, timedOut: 0 }), late, loop: "open" };
  } finally {
    for (const client of clients) client.close();
    // After an abort or a defect. Their returns would wait for them without end.
    for (const index of open) end(index, undefined);
  }
}
