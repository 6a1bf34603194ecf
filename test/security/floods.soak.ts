/**
 * Each flood for a given time against one master (`npm run test:soak -- SECONDS floods`): p99 beside it, and memory after it.
 * Flood, load and master share the machine. The same flood against a program that only reads shows the cost of the shared cores.
 * The three take turns, because a shared machine can be slow for ten seconds. `TMPDIR` on a file system in memory leaves out the disk's own delays.
 */
import { setTimeout as delay } from "node:timers/promises";
import { startOurMaster } from "../fleet/our-master.ts";
import { honestWindows, openSink, percentile, residentMb, underFlood, withoutLinger } from "./flood-run.ts";
import { floods } from "./floods.ts";
import { HonestLoad } from "./honest-load.ts";

const windowMs = 1_000;
const slowerMax = 3;
const noiseMs = 15;
const keptMbMax = 128;
/** A busy thread gives its memory back within some collections, one each 5 s. The honest load goes on meanwhile. */
const restMs = 60_000;

const names = Object.keys(floods);
const seconds = Number(process.env.SALTWORKS_SOAK_SECONDS ?? 600);
const timing = { windowMs, windows: 2 };
const turns = Math.max(3, Math.round((seconds * 1_000) / names.length / (3 * timing.windows * windowMs)));
const master = await startOurMaster(3_000, withoutLinger);
const sink = await openSink();
let failures = 0;

function tell(isGood: boolean, line: string): void {
  process.stdout.write(`${isGood ? "held  " : "FAILED"} ${line}\n`);
  if (!isGood) failures += 1;
}

async function underTurns(name: string, load: HonestLoad) {
  const idle: number[] = [];
  const beside: number[] = [];
  const flooded: number[] = [];
  let sentBytes = 0;
  let connects = 0;
  for (let turn = 0; turn < turns; turn += 1) {
    idle.push(...(await honestWindows(load, timing)));
    await underFlood("requests", name, sink.port, async () => {
      beside.push(...(await honestWindows(load, timing)));
    });
    const sent = await underFlood("requests", name, master.requestPort, async () => {
      flooded.push(...(await honestWindows(load, timing)));
    });
    sentBytes += sent.bytes;
    connects += sent.connects;
  }
  const [idleMs, besideMs, floodedMs] = [percentile(idle, 0.5), percentile(beside, 0.5), percentile(flooded, 0.5)];
  return { idleMs, besideMs, floodedMs, sentBytes, connects };
}

try {
  const load = await HonestLoad.open(master.requestPort, master.pkiDirectory);
  await load.run(windowMs);
  const beforeMb = residentMb(master.processId);
  for (const name of names) {
    const { idleMs, besideMs, floodedMs, sentBytes, connects } = await underTurns(name, load);
    const figures = `p99 ${idleMs.toFixed(1)} ms idle, ${besideMs.toFixed(1)} ms beside the same flood elsewhere, ${floodedMs.toFixed(1)} ms flooded; ${(sentBytes / 1e6).toFixed(0)} MB over ${connects} connections`;
    tell(floodedMs <= Math.max(slowerMax * idleMs, slowerMax * besideMs, noiseMs), `${name}: ${figures}`);
  }
  await delay(restMs);
  const afterMb = residentMb(master.processId);
  tell(afterMb <= beforeMb + keptMbMax, `memory: ${beforeMb.toFixed(0)} MiB before, ${afterMb.toFixed(0)} MiB after`);
  tell(load.lost === 0, `${load.returns} honest returns, ${load.lost} without an answer`);
  load.close();
} finally {
  await sink.close();
  await master.remove();
}
process.exitCode = failures === 0 ? 0 : 1;
