/** Commands of external pillar sources end with the thread that runs them. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { loadMasterConfig } from "../../src/config/load.ts";
import { openExternalLane } from "../../src/master/threads.ts";
import { LiveGroups } from "../../src/pillar/external/live-groups.ts";
import { LanePool } from "../../src/workers/lane-pool.ts";
import type { SourceStart } from "../../src/workers/pillar-messages.ts";
import { processEnded } from "../pillar/process-end.ts";

const root = mkdtempSync(join(tmpdir(), "external-lane-"));
after(() => rmSync(root, { recursive: true }));
const logger = pino({ level: "silent" });

const configOf = (command: string) =>
  loadMasterConfig(root, { pki_dir: root, cachedir: root, ext_pillar: [{ cmd_yaml: command }] });

describe("commands of external sources", { timeout: 120_000 }, () => {
  it("end when the master stops", async () => {
    const pidFile = join(root, "pids");
    const command = `sleep 600 & echo $$ $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait`;
    const lane = openExternalLane(configOf(command), { PATH: process.env.PATH }, logger);
    const lost = assert.rejects(lane.run({ id: "web1" }));
    while (!existsSync(pidFile)) await sleep(20);
    await lane.close();
    await lost;
    const pids = readFileSync(pidFile, "utf8").trim().split(" ").map(Number);
    assert.equal(pids.length, 2);
    for (const pid of pids) await processEnded(pid);
  });

  it("end when their thread was lost and the next one starts", async () => {
    const groups = LiveGroups.memoryFor(2);
    const left = spawn("sleep", ["600"], { detached: true, stdio: "ignore" });
    const ended = new Promise((resolve) => left.once("exit", (_code, signal) => resolve(signal)));
    new LiveGroups(groups).add(left.pid ?? 0);
    const lane = new LanePool({
      filename: new URL("../../src/workers/external-lane.js", import.meta.url).href,
      heap: { youngMb: 6, oldMb: 256 },
      threadCount: 1,
      threadsKept: 0,
      concurrentTasksPerThread: 2,
      queueMax: 2,
      taskTimeoutMs: 60_000,
      workerData: { config: configOf("true"), environment: {}, groups } satisfies SourceStart,
      onThreadLost: () => undefined,
    });
    await lane.run({ id: "web1" });
    assert.equal(await ended, "SIGKILL");
    // What has ended by itself is not among those that run.
    assert.deepEqual([...new Int32Array(groups)], [0, 0]);
    await lane.close();
  });
});
