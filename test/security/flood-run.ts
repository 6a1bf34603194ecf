/** One flood against a real master beside an honest load: latencies of honest minions without and with the flood, and the master's memory. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { HonestLoad } from "./honest-load.ts";

const sinkFile = fileURLToPath(new URL("sink.js", import.meta.url));
const flooderFile = fileURLToPath(new URL("flooder.js", import.meta.url));

/** The master of these tests: a minion's request waits up to 40 ms for others by default, and a flood's delay could hide behind that wait. */
export const withoutLinger = { batch_linger_us: 0 };

export type Timing = { readonly windowMs: number; readonly windows: number };
export type FloodSent = { readonly bytes: number; readonly connects: number; readonly closed: number };
export type FloodKind = "requests" | "publish" | "strangers" | "large";
export type FloodResult = { readonly idleMs: number; readonly floodedMs: number; readonly sent: FloodSent };

/** The median of several windows' 99th percentiles, milliseconds: a stall of a shared machine affects one window. */
export async function honestP99(load: HonestLoad, timing: Timing): Promise<number> {
  return percentile(await honestWindows(load, timing), 0.5);
}

/** @returns the 99th percentile of each window, milliseconds */
export async function honestWindows(load: HonestLoad, { windowMs, windows }: Timing): Promise<number[]> {
  const found: number[] = [];
  for (let window = 0; window < windows; window += 1) found.push(percentile(await load.run(windowMs), 0.99));
  return found;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export async function runFlood(
  name: string,
  port: number,
  load: HonestLoad,
  timing: Timing,
  kind: FloodKind = "requests",
): Promise<FloodResult> {
  const idleMs = await honestP99(load, timing);
  let floodedMs = 0;
  const sent = await underFlood(kind, name, port, async () => {
    floodedMs = await honestP99(load, timing);
  });
  return { idleMs, floodedMs, sent };
}

/** Runs `measure` while strangers send a flood to the port. */
export async function underFlood(
  kind: FloodKind,
  name: string,
  port: number,
  measure: () => Promise<void>,
): Promise<FloodSent> {
  const child = spawn(process.execPath, [flooderFile, kind, name, String(port)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  try {
    const first = await lines.next();
    assert.equal(first.value, "flowing", `the flood "${name}" ended before it flowed`);
    await measure();
    child.stdin.end();
    const { value } = await lines.next();
    return JSON.parse(String(value)) as FloodSent;
  } finally {
    await end(child);
  }
}

/** A port that reads everything and answers nothing. `close` ends its program. */
export async function openSink(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const child = spawn(process.execPath, [sinkFile], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  return { port: Number(value), close: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Resident memory of a process, MiB. */
export function residentMb(processId: number): number {
  const status = readFileSync(`/proc/${processId}/status`, "latin1");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? Number.NaN) / 1_024;
}
