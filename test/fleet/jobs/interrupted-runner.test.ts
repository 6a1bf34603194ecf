/** Ctrl-C at `saltworks run`: the command ends, and says that the function goes on in the master. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { cliFile, startOurMaster } from "../our-master.ts";
import { runCli } from "../run-cli.ts";

const timeoutMs = 60_000;

describe("Ctrl-C at a runner function", { timeout: 2 * timeoutMs }, () => {
  let master: MasterProcess;
  before(async () => {
    master = await startOurMaster(1, {});
  });
  after(() => master.remove());

  const inMaster = async (): Promise<string> =>
    (await runCli(["run", "-c", master.configDirectory, "jobs.master", "--out", "json"], timeoutMs)).stdout;

  it("ends the command, and says that the function goes on and where it is listed", async () => {
    const words = ["run", "-c", master.configDirectory, "test.sleep", "600"];
    const child = spawn(process.execPath, [cliFile, ...words], { stdio: ["ignore", "pipe", "pipe"] });
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    const ended = once(child, "close");
    for (const endMs = Date.now() + timeoutMs; !(await inMaster()).includes("test.sleep"); await delay(50))
      assert.ok(Date.now() < endMs, complaint);
    child.kill("SIGINT");
    assert.deepEqual(await ended, [130, null]);
    const said =
      /^\nExiting gracefully on Ctrl-c\n\[WARNING \] test\.sleep goes on in the master as job (\d{20}); it is in the list of: saltworks run -c \S+ jobs\.master\n$/;
    const [, jid = "none"] = said.exec(complaint) ?? assert.fail(complaint);
    assert.ok((await inMaster()).includes(jid), "it runs on under this id");
  });
});
