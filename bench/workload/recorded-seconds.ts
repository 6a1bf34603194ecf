/** How long a stage has to be so that each of its operations comes at least once. Pure. */

/** The least rate that a workload file takes: one operation in almost three hours. */
export const rateLeast = 0.0001;
const secondsLeast = 60;
/** A stage is not longer, even if an operation then does not come in it. */
export const secondsMost = 3_600;
/** Below the 10,000,000 operations that a run takes in one stage. */
const operationsMost = 9_000_000;

/** `rates`: of operations that have to come, a second. `totalRate`: of all operations, the returns of each job included. */
export function stageSeconds(rates: readonly number[], totalRate: number): number {
  const most = Math.max(1, Math.min(secondsMost, Math.floor(operationsMost / Math.max(totalRate, 1e-9))));
  const once = Math.max(0, ...rates.map((rate) => Math.ceil(1 / rate)));
  return Math.min(most, Math.max(secondsLeast, once));
}
