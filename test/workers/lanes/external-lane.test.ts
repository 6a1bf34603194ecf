/** Commands of external pillar sources end with their thread and their master. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { openExternalLane } from "../../../src/master/threads.ts";
import { processEnded } from "../../pillar/process-end.ts";
import { until } from "../../transport/zmtp/publish/subscribing.ts";

const root = mkdtempSync(join(tmpdir(), "external-lane-"));
after(() => rmSync(root, { recursive: true }));
const holder = fileURLToPath(new URL("./lane-holder.js", import.meta.url));

/** A command that makes a file with its whole text at once, and not before a busy machine has recorded the command. */
const writing = (text: string, file: string) => `sleep 1; echo ${text} > ${file}.new; mv ${file}.new ${file}`;
const pidsIn = (file: string) => readFileSync(file, "utf8").trim().split(" ").map(Number);

describe("commands of external sources", { timeout: 120_000 }, () => {
  it("end when the master stops", async () => {
    const pidFile = join(root, "pids");
    const command = `sleep 600 & ${writing("$$ $!", pidFile)}; wait`;
    const config = loadMasterConfig(root, { pki_dir: root, cachedir: root, ext_pillar: [{ cmd_yaml: command }] });
    const lane = openExternalLane(config, { PATH: process.env.PATH }, pino({ level: "silent" }));
    const lost = assert.rejects(lane.run({ id: "web1" }));
    await until(() => existsSync(pidFile), "the command's processes");
    await lane.close();
    await lost;
    const pids = pidsIn(pidFile);
    assert.equal(pids.length, 2);
    for (const pid of pids) await processEnded(pid);
  });

  it("end when the master is killed, but for what a command left behind at its end", async () => {
    const [leftFile, pidFile] = [join(root, "left"), join(root, "killed")];
    const leaving = `sleep 600 > /dev/null 2>&1 & ${writing("$!", leftFile)}`;
    const master = fork(holder, [root, leaving, `sleep 600 & ${writing("$$ $!", pidFile)}; wait`]);
    await until(() => existsSync(pidFile), "the command's processes");
    master.kill("SIGKILL");
    const pids = pidsIn(pidFile);
    assert.equal(pids.length, 2);
    for (const pid of pids) await processEnded(pid);
    // Throws if the process does not run.
    for (const pid of pidsIn(leftFile)) process.kill(pid, "SIGKILL");
  });
});
