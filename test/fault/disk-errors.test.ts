/**
 * A disk that fails syncs or writes: nothing unsynced is acknowledged, the error is logged and counted, and the store continues.
 * A preloaded library makes the system's calls fail (disk-faults.c).
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { descriptorsForMaster } from "../../bench/fleet/descriptors.ts";
import { openFleet } from "../../bench/fleet/fleet.ts";
import { MasterProcess } from "../../bench/master-process.ts";
import { jidOf } from "../../bench/store/load.ts";
import { openLmdbJobCache } from "../../src/store/drivers/lmdb/job-cache.ts";
import { returnOf } from "../contract/job-samples.ts";
import { cliFile } from "../fleet/our-master.ts";
import { temporaryDirectories } from "../store/temporary.ts";
import { assertThere, endSignal, type Written } from "./disk-writer.ts";
import { compileLibrary, compilerSkip } from "./preload.ts";

const writer = fileURLToPath(new URL("./disk-writer.js", import.meta.url));
const writeMs = 2_000;
const minionCount = 5;
const endTimeoutMs = 60_000;

/** The number of calls that each rule of a rules file has made fail. */
function hitsOf(file: string): ReadonlyMap<string, number> {
  const hits = new Map<string, number>();
  for (const rule of readFileSync(file, "utf8").trim().split("\n")) {
    const [call, part, , , kind] = rule.split(" ");
    hits.set(rule, linesOf(`${file}.hits`).filter((line) => line === `${call} ${part} ${kind}`).length);
  }
  return hits;
}

/** The file exists only if a rule made a call fail. */
function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

type Ended = {
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly hits: ReadonlyMap<string, number>;
};

/** How a process ends that may have written beyond its memory. */
const endSignals: (NodeJS.Signals | null)[] = [endSignal, "SIGABRT", "SIGSEGV", "SIGBUS"];
const writingThreads = 2;

describe("a disk that fails", { skip: compilerSkip() }, () => {
  const temporary = temporaryDirectories();
  let library = "";

  before(() => {
    library = compileLibrary("disk-faults", temporary());
  });

  /** `rules` as disk-faults.c reads them. */
  function write(
    directory: string,
    rules: readonly string[],
    acknowledgedFile?: string,
    threads = writingThreads,
  ): Ended {
    const file = join(temporary(), "faults");
    writeFileSync(file, `${rules.join("\n")}\n`);
    const more = acknowledgedFile === undefined ? [] : [acknowledgedFile];
    const ended = spawnSync(process.execPath, [writer, directory, String(threads), String(writeMs), ...more], {
      encoding: "utf8",
      timeout: endTimeoutMs,
      env: { ...process.env, LD_PRELOAD: library, SALTWORKS_FAULTS: file },
    });
    return { ...ended, hits: hitsOf(file) };
  }

  /** A test whose rule never matched a call shows nothing, so it fails. */
  function assertAllHit(hits: ReadonlyMap<string, number>): void {
    for (const [rule, count] of hits) assert.ok(count > 0, `no call has failed by "${rule}"`);
  }

  const harmless = [
    { what: "a log's sync that loses its data", rules: ["sync returns- 20 3 lost"], words: /EIO/, isRefused: true },
    { what: "a log's writes", rules: ["pwrite returns- 20 3 EIO"], words: /EIO/, isRefused: true },
    {
      what: "a log's 30th write for want of room",
      rules: ["pwrite returns- 29 1 ENOSPC"],
      words: /ENOSPC/,
      isRefused: true,
    },
    { what: "syncs of LMDB's file", rules: ["sync 0.mdb 3 2 EIO"], words: /Input\/output error|EIO/, isRefused: true },
    { what: "the sync of minions' data", rules: ["sync data.mdb 3 4 EIO"], words: undefined, isRefused: false },
    { what: "short writes of a log", rules: ["pwrite returns- 20 5 short"], words: undefined, isRefused: false },
    { what: "short writes of LMDB's file", rules: ["pwrite 0.mdb 60 3 short"], words: undefined, isRefused: false },
  ];
  for (const { what, rules, words, isRefused } of harmless) {
    it(`costs nothing acknowledged: ${what}`, async (context) => {
      const directory = temporary();
      const { signal, stdout, stderr, hits } = write(directory, rules);
      assert.equal(signal, endSignal, stderr.slice(-2_000));
      context.diagnostic([...hits].map(([rule, count]) => `${rule}: ${count}`).join("; "));
      assertAllHit(hits);
      const { acknowledged, refused, faults, told, counted } = JSON.parse(stdout) as Written;
      context.diagnostic(
        `${acknowledged.length} acknowledged, ${refused} refused, ${faults} faults: ${told.join("; ")}`,
      );
      assert.ok(acknowledged.length > refused, "it went on behind the error");
      if (words !== undefined) assert.match(told.join("\n"), words);
      if (isRefused) assert.ok(counted.full + counted.failed > 0, "it is counted");
      await assertThere(directory, acknowledged);
      const cache = openLmdbJobCache({ path: join(directory, "jobs.lmdb"), shards: 1, durability: "fsync" });
      await cache.close();
      await assertThere(directory, acknowledged);
    });
  }

  it("may end the process in LMDB's own words about a page, which is 100 bytes of memory too short; nothing acknowledged is lost", async (context) => {
    const directory = temporary();
    const file = join(directory, "acknowledged");
    const { signal, stderr, hits } = write(directory, ["pwrite 0.mdb 24 4 EIO"], file);
    assertAllHit(hits);
    context.diagnostic(`ended by ${signal}: ${stderr.slice(0, 200)}`);
    assert.ok(endSignals.includes(signal), `${signal}: ${stderr}`);
    // A process that died may not have printed its acknowledgements, so the file has them.
    const acknowledged = linesOf(file);
    await assertThere(directory, acknowledged);
    const cache = openLmdbJobCache({ path: join(directory, "jobs.lmdb"), shards: 1, durability: "fsync" });
    await cache.keepReturns([returnOf(jidOf(0), "later")]);
    await cache.close();
    await assertThere(directory, acknowledged);
  });

  it("of which LMDB's head cannot be written is told as lost until the process starts anew, and nothing acknowledged is", async () => {
    const directory = temporary();
    const file = join(directory, "acknowledged");
    const { signal, stdout, stderr, hits } = write(directory, ["head 0.mdb 8 1 EIO"], file, 1);
    assertAllHit(hits);
    assert.equal(signal, endSignal, stderr);
    const { told, counted } = JSON.parse(stdout) as Written;
    assert.match(told.join("\n"), /MDB_PANIC/);
    assert.ok(counted.lost > 0);
    await assertThere(directory, linesOf(file));
  });

  it("and whose head fails while another thread waits to write may end the process; nothing acknowledged is lost", async (context) => {
    const directory = temporary();
    const file = join(directory, "acknowledged");
    const { signal, stdout, stderr, hits } = write(directory, ["head 0.mdb 8 1 EIO"], file);
    assertAllHit(hits);
    context.diagnostic(`ended by ${signal}`);
    if (signal === endSignal) assert.doesNotThrow(() => JSON.parse(stdout), "it ended by itself");
    // lmdb's wrapper begins the other thread's transaction without checking for an error.
    assert.ok(endSignals.includes(signal), `${signal}: ${stderr}`);
    const acknowledged = linesOf(file);
    assert.ok(acknowledged.length > 0);
    await assertThere(directory, acknowledged);
  });

  it("so ends a master with a sentence and 1, and the next start has all that was acknowledged", async (context) => {
    const rules = join(temporary(), "faults");
    writeFileSync(rules, "");
    const master = await MasterProcess.start({
      command: [process.execPath, cliFile, "master"],
      config: { log_level: "warning", worker_threads: 2, auto_accept: true, loop_interval: 1 },
      descriptors: descriptorsForMaster(minionCount),
      env: { LD_PRELOAD: library, SALTWORKS_FAULTS: rules },
    });
    const fleet = await openFleet({
      masterHost: "127.0.0.1",
      requestPort: master.requestPort,
      minionCount,
      isRecordingAcks: true,
      returnTries: 100,
      returnTimeoutMs: [1_000, 2_000],
      reconnectMs: [100, 500],
    });
    try {
      await fleet.untilUp(endTimeoutMs);
      const client = master.client();
      const { jid } = await client.publish("*", "cmd.run", ["true"]);
      await fleet.until("all returned", ({ returnsAcknowledged }) => returnsAcknowledged === minionCount, endTimeoutMs);
      writeFileSync(rules, "head 0.mdb 0 1 EIO\n");
      // This is the job cache's next transaction.
      await client.publish("*", "cmd.run", ["true"]).catch((error: Error) => context.diagnostic(error.message));
      const exitCode = await master.ended();
      assertAllHit(hitsOf(rules));
      context.diagnostic(`ended with ${exitCode ?? "a signal"}`);
      // Null if LMDB's error message was too long for its buffer.
      assert.ok(exitCode === 1 || exitCode === null, `${exitCode}`);
      if (exitCode === 1) assert.match(master.logTail(), /the disk refused to write the head of a data file/);
      writeFileSync(rules, "");
      await master.restart();
      const found = await client.wheel("saltworks.returns", { jid, ids: fleet.ids() });
      assert.equal(found instanceof Map ? found.size : found, minionCount);
      client.close();
    } finally {
      await fleet.close();
      await master.remove();
    }
  });
});
