/** A mixed day under chaos of any length (`npm run test:soak -- SECONDS chaos-day`), with stock minions of the installed releases. */
import { randomInt } from "node:crypto";
import { runChaosDay } from "./chaos/day.ts";
import { tellOnStdout as tell } from "./chaos/told.ts";

const seconds = Number(process.env.SALTWORKS_SOAK_SECONDS ?? 600);
const seed = Number(process.env.SALTWORKS_CHAOS_SEED ?? randomInt(2 ** 31));

tell(`${seconds} s with seed ${seed}`);
const { faults, figures } = await runChaosDay({
  seconds,
  seed,
  diskMegabytes: 3_072,
  simulatedMinions: 300,
  realMinions: 1,
  returnBytes: [64, 1_024],
  probes: 16,
  probesPerSecond: 40,
  jobEveryMs: 2_000,
  tell,
});
for (const figure of figures) tell(figure);
for (const fault of faults) tell(`FAILED ${fault}`);
tell(faults.length === 0 ? "held: nothing acknowledged was lost" : `${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
