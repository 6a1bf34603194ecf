/** The HTTP API process that a master has started: whether it is up, its process id, a login. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { ask } from "./api-load.ts";

export const upTimeoutMs = 60_000;
const pollMs = 50;

export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = upTimeoutMs,
): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isTrue())) {
    assert.ok(performance.now() < endMs, `no ${what} in ${timeoutMs} ms`);
    await wait(pollMs);
  }
}

export const isUp = (port: number) =>
  ask(port, "/", "").then(
    ({ status }) => status === 200,
    () => false,
  );

/** Ann's session. */
export async function login(port: number): Promise<string> {
  const { text } = await ask(port, "/login", "", { username: "ann", password: "any", eauth: "auto" });
  return (JSON.parse(text) as { return: { token: string }[] }).return[0]?.token ?? assert.fail(text);
}

/** The API that the master has started. */
export function apiOf(master: MasterProcess): number | undefined {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, parent] = / (\d+) /.exec(readFileSync(`/proc/${name}/stat`, "utf8").replace(/^.*\) \S/, "")) ?? [];
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      if (Number(parent) === master.processId && words.includes("api")) return Number(name);
    } catch {
      // It has ended meanwhile.
    }
  }
  return undefined;
}
