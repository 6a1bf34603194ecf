import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../ports/publish/stuck-program.js", import.meta.url));
const deadlineMs = 40_000;

describe("leaveProcess", { timeout: 60_000 }, () => {
  it("ends a process with a thread that hangs in a system call", async () => {
    const child = spawn(process.execPath, ["--enable-source-maps", program], { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (text: Buffer) => {
      said += text.toString();
    });
    // Ended by the test it would have ended by SIGTERM.
    const timer = setTimeout(() => child.kill("SIGTERM"), deadlineMs);
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    clearTimeout(timer);
    assert.equal(said, "stuck: true\n");
    assert.deepEqual({ code, signal }, { code: null, signal: "SIGKILL" });
  });
});

describe("exitAtOnce", { timeout: 60_000 }, () => {
  it("ends a process with a thread that hangs in a system call, with the exit code", async () => {
    const stuck = fileURLToPath(new URL("./stuck-at-once.js", import.meta.url));
    const child = spawn(process.execPath, ["--enable-source-maps", stuck], { stdio: ["ignore", "ignore", "inherit"] });
    const timer = setTimeout(() => child.kill("SIGTERM"), deadlineMs);
    const ended = await once(child, "exit");
    clearTimeout(timer);
    assert.deepEqual(ended, [1, null]);
  });
});
