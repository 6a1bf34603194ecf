/** Members of one cluster as programs on this machine, for tests that drive them from outside. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { MinionKey } from "../../../bench/fleet/keys.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { startTogether } from "../../../bench/members/together.ts";
import { hasCodeIn } from "../../../src/config/files/system-errors.ts";
import { startOurMaster } from "../our-master.ts";

export { memberConfigs } from "../../../bench/members/configs.ts";

type Config = Readonly<Record<string, unknown>>;

/** Between two looks at a state, at least. */
const restMs = 50;

export function createKey(): MinionKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  return { privateKey, publicPem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

export function startMembers(configs: readonly Config[]): Promise<MasterProcess[]> {
  return startTogether(configs.map((config) => startOurMaster(20, config)));
}

/** @throws AssertionError if it is not started */
export function memberAt(members: readonly MasterProcess[], at: number): MasterProcess {
  return members[at] ?? assert.fail(`member ${at} is not started`);
}

/** What a member has written. */
export function logOf({ directory }: MasterProcess): string {
  return readFileSync(join(directory, "output"), "utf8");
}

/** How often the member has joined its cluster, by its log. */
export function joinsOf(member: MasterProcess): number {
  return logOf(member).split("joined the cluster").length - 1;
}

/** Kills a member and its server, as when its machine is lost. The server has a session of its own, which no signal for the master reaches. */
export async function killMachine(member: MasterProcess): Promise<void> {
  const pid = Number(readFileSync(join(member.cacheDirectory, "cluster", "nats-server.pid"), "utf8"));
  const signal = (name: NodeJS.Signals | 0): boolean => {
    try {
      return process.kill(pid, name);
    } catch (error) {
      if (hasCodeIn(error, "ESRCH")) return false;
      throw error;
    }
  };
  await member.kill();
  signal("SIGKILL");
  await untilSo("the server has ended", () => !signal(0));
}

/** Asks until an answer is so. @returns that answer: a later one may differ, because a slow server is missing from it */
export async function untilAnswer<Answer>(
  what: string,
  ask: () => Promise<Answer>,
  isSo: (answer: Answer) => boolean,
): Promise<Answer> {
  let answer = await ask();
  await untilSo(
    () => `${what}, not ${JSON.stringify(answer)}`,
    async () => {
      if (isSo(answer)) return true;
      answer = await ask();
      return isSo(answer);
    },
  );
  return answer;
}

/** Waits for a state that has no event of its own. A look that starts a program takes no more than half of the time from others. */
export async function untilSo(
  what: string | (() => string),
  isSo: () => boolean | Promise<boolean>,
  limitMs = 60_000,
): Promise<void> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const lookedMs = performance.now();
    if (await isSo()) return;
    if (performance.now() > endMs) throw new Error(`not in time: ${typeof what === "string" ? what : what()}`);
    await pause(Math.max(restMs, performance.now() - lookedMs));
  }
}
