/** A cluster under a minute of faults; `npm run test:soak -- 600 faults` runs ten. SALTWORKS_CHAOS_SEED repeats a run. */
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { it } from "node:test";
import { compilerSkip } from "../fault/preload.ts";
import { smallDiskSkip } from "../fault/small-disk.ts";
import { natsServerSkip } from "../services/nats-server.ts";
import { namespacesSkip, runFaults } from "./faults/program.ts";

const seconds = 30;
const testTimeoutMs = 600_000;
const seed = Number(process.env.SALTWORKS_CHAOS_SEED ?? randomInt(2 ** 31));
const skip = smallDiskSkip() || compilerSkip() || namespacesSkip() || (await natsServerSkip());

it("three members lose nothing acknowledged and run nothing twice while machines, links, disks and clocks fail", {
  skip,
  timeout: testTimeoutMs,
}, async (test) => {
  const lines: string[] = [];
  const hasHeld = await runFaults({ seconds, seed, minions: 12 }, (line) => {
    lines.push(line);
    test.diagnostic(line);
  });
  assert.ok(hasHeld, `seed ${seed}: ${lines.filter((line) => line.includes("FAILED")).join("\n")}`);
});
