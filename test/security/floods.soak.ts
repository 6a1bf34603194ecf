/** Each flood for as long as one likes against one master (`npm run test:soak -- SECONDS floods`): p99 beside it, and memory after it. */
import { setTimeout as delay } from "node:timers/promises";
import { startOurMaster } from "../fleet/our-master.ts";
import { residentMb, runFlood } from "./flood-run.ts";
import { floods } from "./floods.ts";
import { HonestLoad } from "./honest-load.ts";

const windowMs = 1_000;
const slowerMax = 3;
const noiseMs = 15;
const keptMbMax = 128;
/** A thread that was busy gives back its memory within some looks of 5 s. */
const restMs = 15_000;

const names = Object.keys(floods);
const seconds = Number(process.env.SALTWORKS_SOAK_SECONDS ?? 600);
const windows = Math.max(3, Math.round((seconds * 1_000) / names.length / 2 / windowMs));
const master = await startOurMaster(3_000, {});
let failures = 0;

function tell(isGood: boolean, line: string): void {
  process.stdout.write(`${isGood ? "held  " : "FAILED"} ${line}\n`);
  if (!isGood) failures += 1;
}

try {
  const load = await HonestLoad.open(master.requestPort, master.pkiDirectory);
  await load.run(windowMs);
  const beforeMb = residentMb(master.processId);
  for (const name of names) {
    const { idleMs, floodedMs, sent } = await runFlood(name, master.requestPort, load, { windowMs, windows });
    const figures = `p99 ${idleMs.toFixed(1)} ms idle, ${floodedMs.toFixed(1)} ms flooded; ${(sent.bytes / 1e6).toFixed(0)} MB over ${sent.connects} connections`;
    tell(floodedMs <= Math.max(slowerMax * idleMs, noiseMs), `${name}: ${figures}`);
  }
  await delay(restMs);
  const afterMb = residentMb(master.processId);
  tell(afterMb <= beforeMb + keptMbMax, `memory: ${beforeMb.toFixed(0)} MiB before, ${afterMb.toFixed(0)} MiB after`);
  tell(load.lost === 0, `${load.returns} honest returns, ${load.lost} without an answer`);
  load.close();
} finally {
  await master.remove();
}
process.exitCode = failures === 0 ? 0 : 1;
