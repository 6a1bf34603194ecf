/**
 * Repeats takeovers and restarts: stock minions of each release change from Salt's master to ours, from ours to ours, back, and (the
 * control) from Salt's to Salt's, and are pinged meanwhile. Prints the time until each answered, and the stack of a minion that stopped answering.
 *
 * `npm run test:soak -- SECONDS takeovers` begins rounds of each release for its part of that time. By hand:
 * `node dist/test/fault/takeovers.soak.js [--rounds 20] [--minions 5] [--hold 45] [--releases 3006,3007,3008] [--alive 0]`
 * and SALTWORKS_SALT_VENVS. With py-spy (on PATH, or named in PY_SPY) it prints the Python stack of a minion that stands still.
 */
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { MasterClient } from "../../src/client/master-client.ts";
import { loadMasterConfig } from "../../src/config/load.ts";
import { runCommand } from "../interop/program.ts";
import { findRelease, type SaltRelease, testedReleases } from "../interop/salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, TestBed } from "../interop/test-bed.ts";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "20" },
    minions: { type: "string", default: "5" },
    hold: { type: "string", default: "45" },
    stall: { type: "string", default: "90" },
    releases: { type: "string", default: testedReleases.join() },
    alive: { type: "string", default: "0" },
  },
});
const rounds = Number(options.rounds);
/** No round begins after this time, except the first of each release. */
const secondsMax = Number(process.env.SALTWORKS_SOAK_SECONDS ?? Number.POSITIVE_INFINITY);
/** Seconds for which minions are watched after each change of masters. */
const holdMs = Number(options.hold) * 1_000;
/** A minion without an answer for this time counts as standing still. */
const stallMs = Number(options.stall) * 1_000;
/** After this time the test stops waiting for a minion that does not answer. */
const giveUpMs = 15 * 60_000;
/** Interval of pings until all have answered, and after that: each ping makes every minion start a process. */
const firstPingEveryMs = 3_000;
const pingEveryMs = 10_000;
const firstStartMs = 120_000;
/** Characters of one message: the top of a stack tells where a minion hangs. */
const shownLinesMax = 40;

type Change = "Salt to ours" | "ours to ours" | "ours to Salt" | "Salt to Salt";
type Stall = { readonly release: string; readonly change: Change; readonly id: string; forMs: number; ended: boolean };

const stalls: Stall[] = [];
const answeredMs = new Map<string, number[]>();

function say(text: string): void {
  const lines = text.split("\n").slice(0, shownLinesMax);
  process.stdout.write(`${new Date().toISOString()} ${lines.join("\n")}\n`);
}

/** Minions of one release with a master that is Salt's or ours in turn. */
class Rig {
  readonly release: SaltRelease;
  readonly #bed = new TestBed();
  readonly #minions: MinionUnderTest[] = [];
  #masters: ReadonlyMap<Maker, MasterUnderTest> = new Map();
  #master: MasterUnderTest | undefined;

  constructor(release: SaltRelease) {
    this.release = release;
  }

  async open(): Promise<void> {
    const salt = await MasterUnderTest.create(this.#bed, this.release, { auto_accept: true, timeout: 5 });
    this.#masters = new Map<Maker, MasterUnderTest>([
      [this.release, salt],
      ["ours", salt.madeBy("ours")],
    ]);
    this.#master = salt;
    await salt.start();
    for (let at = 0; at < Number(options.minions); at += 1) {
      const alive = Number(options.alive) === 0 ? {} : { master_alive_interval: Number(options.alive) };
      this.#minions.push(new MinionUnderTest(salt, this.release, `m${at}`, alive));
    }
    await this.#untilAllAnswer("Salt to Salt", firstStartMs);
  }

  close(): Promise<void> {
    return this.#bed.close();
  }

  async change(to: Maker, change: Change): Promise<void> {
    await this.#master?.program.stop();
    this.#master = this.#masters.get(to);
    await this.#master?.start();
    const firstMs = await this.#untilAllAnswer(change, giveUpMs);
    const key = `${this.release.version} ${change}`;
    answeredMs.set(key, [...(answeredMs.get(key) ?? []), firstMs]);
    say(`${key}: all answered after ${(firstMs / 1_000).toFixed(1)} s`);
  }

  /** Pings until all have answered and the hold is over. @returns milliseconds until the last minion's first answer */
  async #untilAllAnswer(change: Change, limitMs: number): Promise<number> {
    const startMs = performance.now();
    const last = new Map(this.#minions.map(({ id }) => [id, startMs]));
    const first = new Map<string, number>();
    const standing = new Map<string, Stall>();
    for (;;) {
      for (const id of await this.#ping()) {
        last.set(id, performance.now());
        if (!first.has(id)) first.set(id, performance.now() - startMs);
        const stall = standing.get(id);
        if (stall !== undefined) {
          stall.ended = true;
          say(`${this.release.version} ${change}: ${id} answers again after ${Math.round(stall.forMs / 1_000)} s`);
          standing.delete(id);
        }
      }
      const nowMs = performance.now();
      for (const [id, sinceMs] of last) {
        const known = standing.get(id);
        if (known !== undefined) known.forMs = nowMs - sinceMs;
        else if (nowMs - sinceMs > stallMs) {
          const stall = { release: this.release.version, change, id, forMs: nowMs - sinceMs, ended: false };
          standing.set(id, stall);
          stalls.push(stall);
          await this.#show(id, change);
        }
      }
      const isHeld = nowMs - startMs > holdMs && first.size === this.#minions.length && standing.size === 0;
      if (isHeld || nowMs - startMs > limitMs)
        return first.size === this.#minions.length ? Math.max(...first.values()) : limitMs;
      await delay(first.size === this.#minions.length && standing.size === 0 ? pingEveryMs : firstPingEveryMs);
    }
  }

  /** Ids of the minions that answered one ping. */
  async #ping(): Promise<string[]> {
    const master = this.#master;
    if (master === undefined) return [];
    const client = await MasterClient.open(loadMasterConfig(master.configDir), userInfo().username);
    const watch = await this.#bed.watchEvents(master.sockDir);
    const answered = new Set<string>();
    try {
      const job = await client.publish({ target: "*", targetKind: "glob", fun: "test.ping", args: [] });
      const deadlineMs = performance.now() + 5_000;
      while (job !== undefined && answered.size < this.#minions.length && performance.now() < deadlineMs) {
        await delay(100);
        for (const { tag } of watch.seen) {
          const id = tag.startsWith(`salt/job/${job.jid}/ret/`) ? tag.split("/").at(-1) : undefined;
          if (id !== undefined) answered.add(id);
        }
      }
    } catch (error) {
      say(`${this.release.version}: no ping: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      watch.close();
      client.close();
    }
    return [...answered];
  }

  async #show(id: string, change: Change): Promise<void> {
    const minion = this.#minions.find((one) => one.id === id);
    if (minion === undefined) return;
    say(`${this.release.version} ${change}: ${id} has not answered for ${stallMs / 1_000} s`);
    say(minion.program.output.split("\n").slice(-15).join("\n"));
    for (const pid of [minion.program.pid, ...childrenOf(minion.program.pid)]) {
      const shown = await stackOf(pid);
      say(`stack of ${id}, process ${pid}:\n${shown}`);
    }
  }
}

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number);
}

async function stackOf(pid: number): Promise<string> {
  const spy = process.env.PY_SPY ?? "py-spy";
  try {
    const ended = await runCommand(spy, ["dump", "--native", "--pid", String(pid)], { timeoutMs: 30_000 });
    if (ended.code === 0) return ended.stdout.toString();
    return `${spy} failed: ${ended.stderr}`;
  } catch (error) {
    return `${spy} cannot be run (${error instanceof Error ? error.message : String(error)}); it waits in ${waitOf(pid)}`;
  }
}

function waitOf(pid: number): string {
  const file = join("/proc", String(pid), "wchan");
  return existsSync(file) ? readFileSync(file, "utf8") : "nothing: it is gone";
}

async function watchRelease(release: SaltRelease, seconds: number): Promise<void> {
  const rig = new Rig(release);
  const endMs = performance.now() + seconds * 1_000;
  try {
    await rig.open();
    for (let round = 1; round <= rounds && (round === 1 || performance.now() < endMs); round += 1) {
      say(`${release.version}: round ${round} of ${rounds}`);
      await rig.change("ours", "Salt to ours");
      await rig.change("ours", "ours to ours");
      await rig.change(release, "ours to Salt");
      await rig.change(release, "Salt to Salt");
    }
  } finally {
    await rig.close();
  }
}

function report(): void {
  say(
    "changes of masters, with the time until all minions had answered (median, longest), and minions that stood still:",
  );
  for (const [key, times] of [...answeredMs].sort()) {
    const sorted = times.toSorted((a, b) => a - b);
    const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
    const count = stalls.filter(({ release, change }) => `${release} ${change}` === key).length;
    const longest = sorted.at(-1) ?? 0;
    say(
      `${key}: ${times.length} times, ${(middle / 1_000).toFixed(1)} s, ${(longest / 1_000).toFixed(1)} s, ${count} still`,
    );
  }
  for (const { release, change, id, forMs, ended } of stalls)
    say(`${release} ${change}: ${id} stood still for ${Math.round(forMs / 1_000)} s${ended ? "" : ", to the end"}`);
}

const found = await Promise.all(
  testedReleases.filter((name) => options.releases.split(",").includes(name)).map(findRelease),
);
const releases = found.filter((release) => release !== undefined);
if (releases.length === 0) {
  const missing = "no Salt release is installed under SALTWORKS_SALT_VENVS";
  if (process.env.CI === "true") throw new Error(missing);
  say(`skipped: ${missing}`);
}
process.once("SIGINT", () => {
  report();
  process.exit(1);
});
const outcomes: PromiseSettledResult<void>[] = [];
// One release at a time, because minions of several would slow each other down.
for (const release of releases)
  outcomes.push(...(await Promise.allSettled([watchRelease(release, secondsMax / releases.length)])));
if (releases.length > 0) report();
for (const outcome of outcomes) if (outcome.status === "rejected") say(`given up: ${String(outcome.reason)}`);
process.exitCode =
  stalls.some(({ change }) => change.endsWith("to ours")) || outcomes.some(({ status }) => status === "rejected")
    ? 1
    : 0;
