/** Runs a plan's peak hour with simulated minions on this machine, and sets what was predicted beside what was measured. */
import { SaltworksError } from "../../src/errors.ts";
import { descriptorLimits } from "../fleet/descriptors.ts";
import { formatNumber } from "../report/format.ts";
import type { Point } from "../results/schema.ts";
import { runScenario } from "../scenarios/run.ts";
import type { Progress } from "../scenarios/scenario.ts";
import { type Amounts, requestsOf, withDerived } from "./amounts.ts";
import { requestsPerBatch } from "./batch-law.ts";
import { withoutPings } from "./calibrate.ts";
import { predict } from "./law.ts";
import type { Laws } from "./laws.ts";
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
/** The scenario sends whole rounds: one return of each minion. A longer one is refused. */
const roundSecondsMost = 1_800;
const rateLeast = 0.1;
/** The most that --peak takes. */
export const peakMost = 1_000;
/** A single growth is compared from this on, because files grow in steps of some mebibytes. */
const growthBytesLeast = 256 * 1024 * 1024;
const usPerMs = 1_000;

/** `rate`: returns a second. `rounds`: of the whole fleet, in `seconds`. */
export function checkSpan({ minions }: Pick<FleetLoad, "minions">, { returns }: Pick<Rates, "returns">) {
  const rate = Math.max(rateLeast, returns);
  const wanted = Math.min(secondsMost, Math.max(secondsLeast, Math.ceil(returnsLeast / rate)));
  const rounds = Math.max(1, Math.round((rate * wanted) / minions));
  return { rate, rounds, seconds: (rounds * minions) / rate };
}

/** @throws SaltworksError USAGE for a plan whose fleet takes too long for one return of each minion */
export function demandCheck(load: Pick<FleetLoad, "minions" | "peak">, peak: Pick<Rates, "returns">): void {
  const { rate, seconds } = checkSpan(load, peak);
  if (seconds <= roundSecondsMost) return;
  const [minutes, most] = [seconds, roundSecondsMost].map((each) => formatNumber(Math.ceil(each / 60)));
  const factor = Math.ceil((load.peak * load.minions) / roundSecondsMost / Math.max(peak.returns, 1e-9));
  const why = `at ${formatNumber(rate)} returns a second one return of each minion takes ${minutes} minutes, and a check at most ${most}`;
  const instead = factor <= peakMost ? `--peak ${factor}, or more jobs (--job)` : "more jobs (--job)";
  throw new SaltworksError("USAGE", `--check: ${why}: give ${instead}`);
}

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
  const { rate, rounds, seconds } = checkSpan(load, peak);
  const meanBytes = Math.round(peak.returnBytes / rate);
  const parameters = {
    ...{ minions: load.minions, connections, seconds, warmUp: 1, warmSeconds: 0 },
    ...{ returnRate: rate, returnBytes: String(meanBytes), mineRate: peak.mineGets, eventRate: peak.events },
    ...{ pillarRate: peak.pillars, authRate: peak.auths },
  };
  const { points } = await runScenario({
    ...{ scenario: "mixed-day", parameters, progress: o.progress, signal: o.signal },
    master: { kind: "saltworks", workers, config: withoutPings },
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
  const { rates, returns, seconds, minions, connections } = span;
  const counted = {
    ...{ returns, returnBytes: returns * span.meanBytes, events: rates.events * seconds, copies: 0, authsAtOnce: 0 },
    ...{ mineGets: rates.mineGets * seconds, pillars: rates.pillars * seconds, auths: rates.auths * seconds },
    ...{ seconds, minions, connections },
  };
  const requests = requestsOf(counted);
  const batches = requests / requestsPerBatch(laws.batch, requests / seconds, workers);
  return withDerived(counted, { batches, isFresh: true });
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
