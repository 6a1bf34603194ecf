/** A batch job over 100 minions of which ten fail: the master stops it at the right minion, whatever happens to terminals and to the master. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { batchDirectory, listBatches, readBatchEntries } from "../../../src/store/jobs/batch-log.ts";
import type { BatchEntry } from "../../../src/wire/batch-options.ts";
import { cliFile, closeSite, startOurMaster } from "../our-master.ts";
import { type CliResult, runCli } from "../run-cli.ts";

const timeoutMs = 120_000;
const firstId = 100;
/** Ids in order: thirty that succeed, ten that fail, sixty that succeed. */
const groups = [
  { minionCount: 30, retcode: 0 },
  { minionCount: 10, retcode: 3 },
  { minionCount: 60, retcode: 0 },
] as const;
const idOf = (index: number) => `sim-${firstId + index}`;
const failing = (id: string) => id >= idOf(30) && id < idOf(40);

/** A command in a terminal, which the test may close. */
class Terminal {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  stdout = "";
  stderr = "";
  #onOutput: () => void = () => undefined;

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [cliFile, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      this.stderr += chunk;
      this.#onOutput();
    });
    this.#closed = once(this.#child, "close");
    this.#child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      this.stdout += chunk;
      this.#onOutput();
    });
  }

  /** Resolves when the text was printed this many times. */
  untilPrinted(pattern: RegExp, count: number): Promise<void> {
    return this.#until(() => (this.stdout.match(pattern)?.length ?? 0) >= count);
  }

  untilTold(pattern: RegExp): Promise<void> {
    return this.#until(() => pattern.test(this.stderr));
  }

  async #until(isSeen: () => boolean): Promise<void> {
    const deadline = setTimeout(() => this.#child.kill("SIGKILL"), timeoutMs);
    const closed = this.#closed.then(() => assert.fail(`ended too early:\n${this.stdout}${this.stderr}`));
    closed.catch(() => undefined);
    while (!isSeen()) {
      const printed = new Promise<void>((resolve) => {
        this.#onOutput = resolve;
      });
      await Promise.race([printed, closed]);
    }
    clearTimeout(deadline);
  }

  /** Also resolves for a command that has ended by itself. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    await this.#closed;
  }
}

describe("batches", () => {
  let master: MasterProcess;
  let fleets: Fleet[];
  before(async () => {
    master = await startOurMaster(100, { auto_accept: true });
    let firstIndex = firstId;
    fleets = [];
    for (const { minionCount, retcode } of groups) {
      const returnDelayMs = [20, 120] as const;
      const common = { masterHost: "127.0.0.1", requestPort: master.requestPort, reconnectMs: [100, 500] as const };
      fleets.push(await openFleet({ ...common, minionCount, firstIndex, retcode, returnDelayMs }));
      firstIndex += minionCount;
    }
    await Promise.all(fleets.map((fleet) => fleet.untilUp(timeoutMs)));
  });
  after(() => closeSite(fleets, master));

  const salt = (...words: string[]): string[] => ["salt", "-c", master.configDirectory, ...words];
  const run = (...words: string[]): Promise<CliResult> =>
    runCli(["run", "-c", master.configDirectory, ...words], timeoutMs);
  const directory = () => batchDirectory(master.cacheDirectory);
  const newestBatch = () => listBatches(directory()).at(-1) ?? "";

  function entriesOf(jid: string): BatchEntry[] {
    return readBatchEntries(directory(), jid, 0, Number.MAX_SAFE_INTEGER).map(({ entry }) => entry);
  }
  const ofKind = <Kind extends BatchEntry["kind"]>(entries: readonly BatchEntry[], kind: Kind) =>
    entries.filter((entry): entry is Extract<BatchEntry, { kind: Kind }> => entry.kind === kind);
  /** The state that `jobs.batches` shows. */
  async function stateOf(jid: string): Promise<Record<string, unknown>> {
    const { stdout } = await run("jobs.batches", "--out", "json");
    return (JSON.parse(stdout) as Record<string, Record<string, unknown>>)[jid] ?? {};
  }

  it("stop at the failure limit after a canary that succeeded, though the terminal was killed in the middle", async () => {
    const options = ["-b", "6", "--canary", "3", "--batch-max-failures", "5%", "--out", "txt"];
    const terminal = new Terminal(salt(...options, "*", "cmd.run", "true"));
    await terminal.untilPrinted(/Executing run on/g, 3);
    await terminal.end("SIGKILL");
    const jid = newestBatch();
    const followed = await run("jobs.follow", jid, "--out", "txt");
    assert.equal(followed.exitCode, 3, followed.stderr);
    assert.match(followed.stderr, /failure limit, \d+ minions were not started/);
    assert.ok(followed.stdout.startsWith(terminal.stdout.slice(0, terminal.stdout.lastIndexOf("\n") + 1)));

    const entries = entriesOf(jid);
    const started = ofKind(entries, "start").map(({ ids }) => ids);
    assert.deepEqual(started[0], [0, 1, 2].map(idOf));
    assert.deepEqual(
      started.flat(),
      started.flat().map((_, index) => idOf(index)),
    );
    const firstOthers = entries.indexOf(ofKind(entries, "start")[1] as BatchEntry);
    assert.equal(ofKind(entries.slice(0, firstOthers), "return").length, 3, "the others waited for all canaries");
    const failures = ofKind(entries, "return").filter(({ id }) => failing(id));
    // Five failures stop it. The batch waited for the minions that ran then, at most six.
    assert.ok(failures.length >= 5 && started.flat().length <= 30 + 5 + 6, `${started.flat().length} were started`);
    // A step that was on disk and not yet sent when the limit was reached is given up.
    const sent = new Set(ofKind(entries, "sent").map(({ jid: step }) => step));
    const unsent = ofKind(entries, "start").flatMap(({ jid: step, ids }) => (sent.has(step) ? [] : ids));
    const returned = ofKind(entries, "return").map(({ id }) => id);
    assert.deepEqual(new Set([...returned, ...unsent]), new Set(started.flat()));
    assert.deepEqual(
      ofKind(entries, "silent").flatMap(({ ids }) => ids),
      unsent,
    );
    const state = await stateOf(jid);
    assert.deepEqual(
      [state.State, state.Queued, state.Failed],
      ["failures", 100 - started.flat().length, failures.length + unsent.length],
    );
    // No client watched its end, but its result can still be shown.
    assert.deepEqual(await run("jobs.follow", jid, "--out", "txt"), followed);
  });

  it("go no further than a canary that fails", async () => {
    const target = [35, 0, 1, 2].map(idOf).join(",");
    const { exitCode, stdout, stderr } = await runCli(
      salt("-b", "2", "--canary", "1", "--out", "txt", "-L", target, "cmd.run", "true"),
      timeoutMs,
    );
    assert.deepEqual(
      [exitCode, stderr],
      [3, `ERROR: Canary ${idOf(35)} failed. Batch run stopped, 3 minions were not started\n`],
    );
    assert.deepEqual(stdout.match(/Executing run on .*/g), [`Executing run on ['${idOf(35)}']`]);
  });

  it("are paused, resumed and aborted while they run, and Ctrl-C only leaves them", async () => {
    // The batch is far from its end when the last of these commands comes.
    const ids = Array.from({ length: groups[2].minionCount }, (_, index) => idOf(40 + index)).join(",");
    const terminal = new Terminal(salt("-b", "1", "--batch-wait", "3", "-L", ids, "cmd.run", "true"));
    await terminal.untilPrinted(/retcode:/g, 1);
    const jid = newestBatch();
    await terminal.end("SIGINT");
    const watching = new Terminal(["run", "-c", master.configDirectory, "jobs.follow", jid]);
    await watching.untilPrinted(/retcode:/g, 1);
    assert.match((await run("jobs.pause", jid)).stdout, /is paused/);
    const way = `saltworks run -c ${master.configDirectory} jobs.resume ${jid}`;
    await watching.untilTold(new RegExp(`^\\[WARNING \\] The batch was paused by root; ${way} goes on$`, "m"));
    assert.equal((await stateOf(jid)).State, "paused");
    const before = ofKind(entriesOf(jid), "start").length;
    assert.match((await run("jobs.resume", jid)).stdout, /is resumed/);
    await watching.untilTold(/^\[WARNING \] The batch was resumed by root$/m);
    await watching.end("SIGKILL");
    const follower = new Terminal(["run", "-c", master.configDirectory, "jobs.follow", jid]);
    await follower.untilPrinted(/Executing run on/g, before + 2);
    assert.match((await run("jobs.abort", jid)).stdout, /is aborted/);
    const { exitCode, stderr } = await run("jobs.follow", jid);
    assert.equal(exitCode, 1);
    assert.match(stderr, /aborted by \w+, \d+ minions were not started/);
    assert.match((await run("jobs.abort", jid)).stdout, /batch job \d+ is not running/);
    await follower.end("SIGKILL");
  });

  it("are left to the master at once with --async, and can be followed", async () => {
    const target = [0, 1, 2].map(idOf).join(",");
    const begun = await runCli(salt("-b", "2", "--async", "-L", target, "cmd.run", "true"), timeoutMs);
    assert.equal(begun.exitCode, 0, begun.stderr);
    const jid = /^Executed command with job ID: (\d{20})\n$/.exec(begun.stdout)?.[1] ?? "";
    assert.ok(begun.stderr.includes(`saltworks run -c ${master.configDirectory} jobs.follow ${jid}`), begun.stderr);
    const followed = await run("jobs.follow", jid, "--out", "txt");
    assert.equal(followed.exitCode, 0, followed.stderr);
    assert.equal(followed.stdout.match(/^retcode: 0$/gm)?.length, 3, followed.stdout);
  });

  it("go on after the master was killed and started again: every minion has its turn, and none has two", async () => {
    const target = Array.from({ length: 30 }, (_, index) => idOf(index)).join(",");
    const terminal = new Terminal(salt("-b", "3", "-L", target, "cmd.run", "true"));
    await terminal.untilPrinted(/Executing run on/g, 3);
    const jid = newestBatch();
    await master.kill();
    await terminal.end("SIGKILL");
    await master.restart();
    const { exitCode, stderr } = await run("jobs.follow", jid);
    assert.deepEqual([exitCode, stderr], [0, ""]);
    const entries = entriesOf(jid);
    assert.equal(ofKind(entries, "restart").length, 1);
    const started = ofKind(entries, "start").flatMap(({ ids }) => ids);
    assert.deepEqual(started.toSorted(), target.split(","));
    assert.deepEqual(
      ofKind(entries, "return")
        .map(({ id }) => id)
        .toSorted(),
      target.split(","),
    );
  });
});
