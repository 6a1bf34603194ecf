import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { programVersion } from "../../../src/cli/start/version.ts";

const main = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));
const queued = new URL("queued-message.js", import.meta.url).href;

/** Runs a command in a process of its own, beside a message that ZeroMQ cannot deliver. */
function run(...argv: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", queued, main, ...argv], {
    encoding: "utf8",
    timeout: 30_000,
  });
  return { status, stdout, stderr };
}

describe("the end of a command", () => {
  it("does not wait for ZeroMQ, which would warn of it", () => {
    assert.deepEqual(run("--version"), { status: 0, stdout: `saltworks ${programVersion()}\n`, stderr: "" });
  });

  it("keeps exit code and output", () => {
    const wrong = run("no-such-command");
    assert.deepEqual([wrong.status, wrong.stdout], [64, ""]);
    assert.match(wrong.stderr, /there is no command 'no-such-command'/);
    const long = run("completion", "bash");
    assert.equal(long.status, 0);
    assert.ok(long.stdout.endsWith("\n"));
  });
});
