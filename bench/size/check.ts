/** Runs a plan's peak hour with simulated minions on this machine, and sets what was predicted beside what was measured. */
import { descriptorLimits } from "../fleet/descriptors.ts";
import { formatNumber } from "../report/format.ts";
import type { Point } from "../results/schema.ts";
import { runScenario } from "../scenarios/run.ts";
import type { Progress } from "../scenarios/scenario.ts";
import { type Amounts, bulkOf } from "./amounts.ts";
import { predict } from "./law.ts";
import { type Laws, requestsOf, requestsPerBatch } from "./laws.ts";
import type { FleetLoad, Rates } from "./load.ts";
import { syncsOf } from "./plan.ts";

export type CheckRow = {
  readonly name: string;
  readonly predicted: number;
  readonly measured: number;
  readonly error: number;
};

/** A prediction may be wrong by this share of what is measured. */
export const errorMax = 0.25;
/** Of more connections minions take turns: the generator and the master have to fit one machine. */
const connectionsMax = 4_000;
const masterDescriptors = 1_024;
const secondsLeast = 20;
/** A shorter run measures steps of LMDB's file and not its growth. */
const returnsLeast = 3_000;
const secondsMost = 300;
const growthBytesLeast = 8 * 1024 * 1024;
const usPerMs = 1_000;

export async function checkPlan(o: {
  readonly laws: Laws;
  readonly load: FleetLoad;
  readonly peak: Rates;
  readonly workers: number;
  readonly scale: number;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}): Promise<{ readonly rows: readonly CheckRow[]; readonly point: Point }> {
  const { laws, load, peak, workers } = o;
  const connections = Math.min(
    load.minions,
    connectionsMax,
    Math.floor((descriptorLimits().hard - masterDescriptors) / 2),
  );
  const rate = Math.max(0.1, peak.returns);
  const seconds = Math.min(secondsMost, Math.max(secondsLeast, Math.ceil(returnsLeast / rate)));
  // The scenario sends whole rounds of the fleet.
  const rounds = Math.max(1, Math.round((rate * seconds) / load.minions));
  const meanBytes = Math.round(peak.returnBytes / rate);
  const parameters = {
    ...{ minions: load.minions, connections, seconds: (rounds * load.minions) / rate, warmUp: 1 },
    ...{ returnRate: rate, returnBytes: String(meanBytes), mineRate: peak.mineGets, eventRate: peak.events },
    ...{ pillarRate: peak.pillars, authRate: peak.auths },
  };
  const { points } = await runScenario({
    ...{ scenario: "mixed-day", parameters, progress: o.progress, signal: o.signal },
    master: { kind: "saltworks", workers },
  });
  const [point] = points;
  if (point === undefined) throw new Error("the mixed day left no point");
  const span = { ...parameters, rates: peak, returns: rounds * load.minions, meanBytes, connections };
  const amounts = plannedAmounts(laws, span, workers);
  return { rows: rowsOf({ laws, amounts, point, scale: o.scale }), point };
}

function plannedAmounts(
  laws: Laws,
  span: { rates: Rates; returns: number; meanBytes: number; seconds: number; minions: number; connections: number },
  workers: number,
): Amounts {
  const { rates, returns, seconds } = span;
  const own = {
    ...{ returns, returnBytes: returns * span.meanBytes, events: rates.events * seconds, copies: 0 },
    ...{ mineGets: rates.mineGets * seconds, pillars: rates.pillars * seconds, auths: rates.auths * seconds },
    ...{ seconds, minionSeconds: seconds * span.minions, masters: 1, connections: span.connections, busyMasters: 1 },
    bulkMasters: bulkOf((returns * span.meanBytes) / seconds),
  };
  const requests = requestsOf(own);
  return { ...own, batches: requests / requestsPerBatch(laws.batch, requests / seconds, workers) };
}

function rowsOf(o: { laws: Laws; amounts: Amounts; point: Point; scale: number }): CheckRow[] {
  const { laws, amounts, point } = o;
  const { cpu, memory, storage, network } = point;
  const growth = (storage?.cacheBytesAfter ?? 0) - (storage?.cacheBytesBefore ?? 0);
  const cache = predict(laws.of.cacheBytes, amounts).value;
  const compared: (readonly [string, number, number | undefined])[] = [
    ["CPU, ms", (predict(laws.of.cpuUs, amounts).value * o.scale) / usPerMs, cpu.totalMs],
    ["memory, bytes", predict(laws.of.memoryBytes, amounts).value, memory.anonymousBytes],
    ["syncs", syncsOf(laws, amounts).value - amounts.returns / 1_000, storage?.syncs],
    ["bytes to the master", predict(laws.of.toMasterBytes, amounts).value, network?.toMasterBytes],
    ["bytes from the master", predict(laws.of.fromMasterBytes, amounts).value, network?.fromMasterBytes],
    // Growth that is smaller than some steps of LMDB's file cannot be measured; what is written can.
    cache >= growthBytesLeast
      ? ["growth of the cache, bytes", cache, growth]
      : ["written, bytes", predict(laws.of.writtenBytes, amounts).value, storage?.writtenBytes],
  ];
  return compared.flatMap(([name, predicted, measured]) =>
    measured === undefined || measured <= 0 ? [] : [{ name, predicted, measured, error: predicted / measured - 1 }],
  );
}

export function isWithin(rows: readonly CheckRow[]): boolean {
  return rows.length > 0 && rows.every(({ error }) => Math.abs(error) <= errorMax);
}

export function errorText(error: number): string {
  return `${error >= 0 ? "+" : "−"}${formatNumber(Math.abs(error) * 100)} %`;
}
