/** How far to trust a scalability curve on this machine, in words that an operator reads beside the number. */
import { predictPerSecond, type ScalingPoint, type UslFit } from "./usl.ts";

export type Trust = { readonly level: "none" | "low" | "fair" | "good"; readonly reasons: readonly string[] };

/** Three coefficients fit any three points, so a curve means something only from the fourth number of workers on. */
const distinctCountMin = 4;
const scatterFair = 0.05;
const scatterLow = 0.15;
const rSquaredMin = 0.8;
/** The factor by which the peak may move when one point is left out. */
const peakMoveMax = 1.5;

/** `cores` of the machine. A generator on the same machine uses a part of them. */
export function trustFit(fit: UslFit | undefined, points: readonly ScalingPoint[], cores: number): Trust {
  if (fit === undefined)
    return { level: "none", reasons: ["fewer than two different numbers of workers were measured"] };
  const low: string[] = [];
  const fair: string[] = [];
  if (fit.distinctCount < distinctCountMin) {
    low.push(`only ${fit.distinctCount} different numbers of workers were measured; a curve needs ${distinctCountMin}`);
  }
  const percent = `${(fit.scatter * 100).toFixed(0)} %`;
  if (fit.scatter > scatterLow) low.push(`points lie ${percent} off the curve`);
  else if (fit.scatter > scatterFair) fair.push(`points lie ${percent} off the curve`);
  const [peakLow, peakHigh] = fit.peakRange;
  if (Number.isFinite(peakHigh) && peakHigh > peakMoveMax * peakLow) {
    fair.push(`leaving out one point moves the peak between ${peakLow.toFixed(1)} and ${peakHigh.toFixed(1)} workers`);
  }
  // Flat throughput has little variance to explain.
  if (fit.rSquared < rSquaredMin && fit.scatter > scatterFair) {
    low.push(`the curve explains only ${(Math.max(0, fit.rSquared) * 100).toFixed(0)} % of what was seen`);
  }
  const most = Math.max(...points.map(({ workers }) => workers));
  if (most > cores) {
    low.push(
      `${most} workers were tried on ${cores} cores: beyond the cores threads share them, so the curve says how they share, not how the program scales`,
    );
  }
  if (low.length > 0) return { level: "low", reasons: [...low, ...fair] };
  return fair.length > 0 ? { level: "fair", reasons: fair } : { level: "good", reasons: [] };
}

/** Sentences that are shown beside the curve. */
export function describeFit(fit: UslFit, points: readonly ScalingPoint[], cores: number): string[] {
  const { lambda, sigma, kappa, peakWorkers, rSquared } = fit;
  const figures = `One worker ${Math.round(lambda)}/s; contention σ ${sigma.toFixed(3)}, coherency κ ${kappa.toFixed(4)}; R² ${rSquared.toFixed(2)} over ${fit.pointCount} runs.`;
  const most = Math.max(...points.map(({ workers }) => workers));
  const peak = Number.isFinite(peakWorkers)
    ? `The curve is highest at ${peakWorkers.toFixed(1)} workers with ${Math.round(predictPerSecond(fit, peakWorkers))}/s${peakWorkers > most ? `, beyond the ${most} that were measured` : ""}.`
    : "The curve does not turn down.";
  const { level, reasons } = trustFit(fit, points, cores);
  return [figures, peak, `Trust: ${level}${reasons.length === 0 ? "" : ` (${reasons.join("; ")})`}.`];
}
