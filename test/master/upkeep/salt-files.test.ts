/** Salt's own files at a start: which of them count as new, and when they are kept current. */
import assert from "node:assert/strict";
import { cpSync, mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import type { Logger } from "pino";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { prepareSaltFiles, SaltFiles, type SaltPlan } from "../../../src/master/upkeep/salt-files.ts";
import { openMinionData } from "../../../src/store/minions/data.ts";
import { MirrorQueue, mirrorQueueFile } from "../../../src/store/salt/mirror-queue.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { SaltTask } from "../../../src/workers/messages/lanes.ts";
import type { LanePool } from "../../../src/workers/threads/lane-pool.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

function put(path: string, value: Encodable): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, encode(value, "bin"));
}

const idle = {
  ...{ returns: 0, duplicates: 0, gone: 0, failed: 0, dropped: 0, minions: 0 },
  ...{ returnsWaiting: 0, minionsWaiting: 0, isHeldUp: false, faults: [], storeFaults: [] },
};

describe("Salt's own files at a start", () => {
  const temporary = temporaryDirectories();

  function openSite() {
    const folder = temporary();
    const config = loadMasterConfig(join(folder, "none"), { root_dir: folder, id: "m" });
    const lines: string[] = [];
    const line = (_: unknown, text: string) => void lines.push(text);
    const logger = { info: line, warn: line, error: line } as unknown as Logger;
    mkdirSync(config.cachedir, { recursive: true });
    const start = async (): Promise<SaltPlan> => {
      const minions = openMinionData({ path: join(config.cachedir, "minions.lmdb") });
      try {
        return await prepareSaltFiles(config, { minions, ids: ["a"], logger, programPath: "" });
      } finally {
        await minions.close();
      }
    };
    const mineOf = async (id: string) => {
      const minions = openMinionData({ path: join(config.cachedir, "minions.lmdb"), isReadOnly: true });
      const mine = minions.getMine(id);
      await minions.close();
      return mine && decode(mine);
    };
    return { config, cachedir: config.cachedir, logger, lines, start, mineOf };
  }

  it("are found when they are copied in after the first start, with their old times", async () => {
    const { cachedir, start, mineOf } = openSite();
    const first = await start();
    assert.deepEqual([first.isMirrored, first.jobsSinceMs], [false, undefined]);
    first.jobsMark.set("");
    const old = temporary();
    put(join(old, "minions", "a", "mine.p"), { ip: "::1" });
    put(join(old, "jobs", "00", "11", "a", "return.p"), { return: 1 });
    first.minionsMark.end(Date.now() - 60_000);
    first.jobsMark.end(Date.now() - 60_000);
    for (const name of ["minions", "jobs"]) cpSync(join(old, name), join(cachedir, name), { recursive: true });
    for (const path of ["minions/a/mine.p", "jobs/00/11/a/return.p", "jobs/00/11", "jobs/00"])
      utimesSync(join(cachedir, path), 1_000_000, 1_000_000);
    const second = await start();
    assert.deepEqual(await mineOf("a"), new Map([["ip", "::1"]]));
    assert.ok(second.jobsSinceMs, "jobs are looked for");
    assert.equal(second.isMirrored, true, "Salt was found");
  });

  it("are not read for a minion whose files were to be written when the master was killed", async () => {
    const { cachedir, start, mineOf } = openSite();
    const first = await start();
    put(join(cachedir, "minions", "a", "mine.p"), { ip: "::1" });
    utimesSync(join(cachedir, "minions", "a", "mine.p"), 1_000_000, 1_000_000);
    // A later change of the file, or one in the mark's own millisecond, would not be that of the killed master.
    first.minionsMark.end(Math.ceil(statSync(join(cachedir, "minions", "a", "mine.p")).ctimeMs) + 1);
    const queue = new MirrorQueue(mirrorQueueFile(cachedir));
    queue.addMinion("a");
    await queue.close();
    await start();
    assert.equal(await mineOf("a"), undefined);
  });

  it("have their jobs taken over at a later try if the store takes nothing", async () => {
    const { config, start, logger, lines } = openSite();
    const plan = { ...(await start()), isMirrored: false, jobsSinceMs: 0 };
    let asks = 0;
    let files: SaltFiles | undefined;
    const tried = new Promise<void>((resolve) => {
      const run = async ({ isBrief }: Extract<SaltTask, { kind: "takeJobs" }>) => {
        if (isBrief === true) return { taken: 0, leftOut: 0, isDone: true, faults: [], storeFaults: [] };
        asks += 1;
        if (asks === 1) throw new SaltworksError("STORE_FAILED", "disk full");
        resolve();
        return { taken: 3, leftOut: 0, isDone: true, faults: [], storeFaults: ["a record is damaged"] };
      };
      files = new SaltFiles(plan, { config, saltLane: { run } as unknown as LanePool, logger });
    });
    assert.ok(files);
    await tried;
    await files.close();
    assert.equal(files.counters.jobsTaken, 3);
    assert.match(lines.join("\n"), /the thread of Salt's own files met a fault of our store/);
    assert.ok(plan.jobsMark.sinceMs > 0, "the next start looks for new ones alone");
  });

  it("are kept current while the takeover of jobs waits for its next try", async () => {
    const { config, start, logger } = openSite();
    const plan = { ...(await start()), isMirrored: true, jobsSinceMs: 0 };
    const asked: string[] = [];
    let files: SaltFiles | undefined;
    const tried = new Promise<void>((resolve) => {
      const run = async ({ kind }: SaltTask) => {
        asked.push(kind);
        if (kind === "mirror") return { ...idle, returnsWaiting: asked.length < 50 ? 1 : 0 };
        if (asked.length === 1) throw new SaltworksError("STORE_FAILED", "disk full");
        resolve();
        return { taken: 0, leftOut: 0, isDone: true, faults: [], storeFaults: [] };
      };
      files = new SaltFiles(plan, { config, saltLane: { run } as unknown as LanePool, logger });
    });
    await tried;
    const atRetry = asked.lastIndexOf("takeJobs");
    await files?.close();
    assert.ok(atRetry > 50, `${atRetry} steps until all that waited was written`);
  });

  it("are looked through for jobs from the last look on, whatever the last sign of life was", async () => {
    const { config, start, logger } = openSite();
    const first = await start();
    const lookedMs = Date.now() - 5_000;
    first.jobsMark.set(String(lookedMs));
    const plan = await start();
    assert.equal(plan.jobsLookedMs, lookedMs);
    let files: SaltFiles | undefined;
    const asked = new Promise<SaltTask>((resolve) => {
      const run = async (task: SaltTask) => {
        resolve(task);
        return { taken: 0, leftOut: 0, isDone: true, faults: [], storeFaults: [] };
      };
      files = new SaltFiles(plan, { config, saltLane: { run } as unknown as LanePool, logger });
    });
    const task = await asked;
    await files?.close();
    assert.ok(task.kind === "takeJobs" && task.isBrief === true && task.sinceMs < lookedMs, JSON.stringify(task));
    assert.ok(Number(plan.jobsMark.text) > lookedMs, "the next start begins with this look");
  });
});
