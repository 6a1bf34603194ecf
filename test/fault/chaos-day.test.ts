/** A short mixed day under chaos; `npm run test:soak -- 3600 chaos-day` runs an hour. SALTWORKS_CHAOS_SEED repeats a run. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { it } from "node:test";
import { runChaosDay } from "./chaos/day.ts";
import { smallDiskSkip } from "./small-disk.ts";

const seconds = 25;
const testTimeoutMs = 400_000;
const seed = Number(process.env.SALTWORKS_CHAOS_SEED ?? randomInt(2 ** 31));

it("a mixed day under floods, kills, full disks and changes of keys loses nothing acknowledged", {
  skip: smallDiskSkip(),
  timeout: testTimeoutMs,
}, async (test) => {
  const { faults, figures } = await runChaosDay({
    seconds,
    seed,
    diskMegabytes: 768,
    simulatedMinions: 60,
    realMinions: 0,
    returnBytes: [64, 4_096],
    probes: 8,
    probesPerSecond: 20,
    jobEveryMs: 500,
    tell: (line) => test.diagnostic(line),
  });
  for (const figure of figures) test.diagnostic(figure);
  assert.deepEqual(faults, [], `seed ${seed}`);
});
