/** Ctrl-C ends the tuner at once in each of its phases, says so, and leaves neither a master's directory nor half a result behind. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { defaultKeyDirectory } from "../../../bench/fleet/keys.ts";
import { readResult } from "../../../bench/results/files.ts";
import { cliFile } from "../our-master.ts";

const timeoutMs = 300_000;
/** Far more than it takes, and less than an orderly stop of all parts may take. */
const endedWithinMs = 60_000;
const lookMs = 5;

const folder = mkdtempSync(join(tmpdir(), "saltworks-interrupted-"));
after(() => rmSync(folder, { recursive: true }));

class Tuning {
  /** What the tuner takes for the system's temporary directory. */
  readonly temporary: string;
  readonly results: string;
  readonly #child: ChildProcess;
  readonly ended: Promise<number>;
  err = "";
  #hasClosed = false;
  readonly #seen = new Set<string>();

  constructor(name: string, args: readonly string[]) {
    this.temporary = join(folder, name);
    this.results = join(this.temporary, "results");
    mkdirSync(this.results, { recursive: true });
    const load = ["--minions", "20", "--set", "returns=10", "--set", "warmUp=5", "--seconds", "1"];
    const argv = ["tune", "--quick", "--on-busy-machine", "--workers-max", "1", ...load, "--output", this.results];
    const env = { ...process.env, TMPDIR: this.temporary };
    this.#child = spawn(process.execPath, [cliFile, ...argv, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: timeoutMs,
      env,
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.err += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#hasClosed = true;
        resolve(code ?? -1);
      });
    });
  }

  async until(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      assert.equal(this.#hasClosed, false, this.err);
      await wait(lookMs);
    }
  }

  /** The directory of the master that runs now. */
  master(): string | undefined {
    const name = this.#entries().find((entry) => entry.startsWith("sw-"));
    if (name !== undefined) this.#seen.add(name);
    return name && join(this.temporary, name);
  }

  /** Masters that were started so far. */
  get masters(): number {
    this.master();
    return this.#seen.size;
  }

  left(): string[] {
    const own = this.#entries().filter((name) => name !== "results" && !defaultKeyDirectory().endsWith(name));
    return [...own, ...readdirSync(this.results).filter((name) => name.endsWith(".partial"))];
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  #entries(): string[] {
    return readdirSync(this.temporary);
  }
}

function has(directory: string | undefined, ...path: string[]): boolean {
  return directory !== undefined && existsSync(join(directory, ...path));
}

/** How many minions' keys the master has. */
function keysOf(directory: string | undefined): number {
  const keys = directory === undefined ? "" : join(directory, "pki", "minions");
  return existsSync(keys) ? readdirSync(keys).length : 0;
}

const phases: readonly {
  readonly name: string;
  readonly args?: readonly string[];
  readonly runs: boolean;
  isReached(tuning: Tuning): boolean;
}[] = [
  { name: "start of a master", runs: false, isReached: (tuning) => has(tuning.master(), "output") },
  { name: "sign in", runs: false, isReached: (tuning) => keysOf(tuning.master()) > 0 },
  { name: "repeats", args: ["--repeats", "2"], runs: true, isReached: (tuning) => tuning.masters === 2 },
  {
    name: "search",
    runs: true,
    isReached: (tuning) => tuning.err.includes("batch_linger_us: ") && keysOf(tuning.master()) > 0,
  },
];

describe("saltworks tune after Ctrl-C", { concurrency: 2 }, () => {
  for (const { name, args = [], runs, isReached } of phases) {
    it(`ends at once in the phase: ${name}`, { timeout: timeoutMs }, async () => {
      const tuning = new Tuning(name.replaceAll(" ", "-"), args);
      await tuning.until(() => isReached(tuning));
      tuning.interrupt();
      const askedMs = performance.now();
      assert.equal(await tuning.ended, 130, tuning.err);
      const tookMs = performance.now() - askedMs;
      assert.ok(tookMs < endedWithinMs, `${tookMs} ms`);
      assert.match(tuning.err, /ended early, after \d+ runs?: Ctrl-C or another signal/);
      assert.deepEqual(tuning.left(), []);
      const [result] = readdirSync(tuning.results).filter((file) => file.endsWith(".json"));
      assert.equal(result !== undefined, runs);
      if (result === undefined) return;
      const { advice, points } = readResult(join(tuning.results, result));
      assert.match(advice?.remarks.join("\n") ?? "", new RegExp(`Ended early, after ${points.length} run`));
    });
  }

  it("ends with the second Ctrl-C without waiting, and leaves nothing either", { timeout: timeoutMs }, async () => {
    const tuning = new Tuning("twice", []);
    await tuning.until(() => keysOf(tuning.master()) > 0);
    tuning.interrupt();
    await tuning.until(() => tuning.err.includes("Stopping"));
    tuning.interrupt();
    assert.equal(await tuning.ended, 130, tuning.err);
    assert.deepEqual(tuning.left(), []);
  });

  it("ends by itself after --minutes, with a result if something was measured", { timeout: timeoutMs }, async () => {
    // On a machine that is five times slower, the first run still ends within this minute.
    const tuning = new Tuning("minutes", ["--minutes", "1", "--repeats", "100"]);
    // 2: on a busy machine the generator may be the limit.
    assert.ok([0, 2].includes(Number(await tuning.ended)), tuning.err);
    assert.match(tuning.err, /ended early, after \d+ runs?: the time of --minutes 1 is over/);
    assert.ok(readdirSync(tuning.results).some((file) => file.endsWith(".json")));
    assert.deepEqual(tuning.left(), []);
  });
});
