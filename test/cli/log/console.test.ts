import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { consoleLog } from "../../../src/cli/log/console.ts";
import { CountedLines } from "../../../src/cli/log/counted-lines.ts";

describe("standard error as a log", () => {
  it("loses lines where nothing can be written, and throws nothing", () => {
    const full = openSync("/dev/full", "w");
    const log = consoleLog(full);
    log.write("first\n");
    log.write("second\n");
    closeSync(full);
  });

  it("writes whole lines", () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-console-"));
    const file = openSync(join(folder, "log"), "w");
    const long = `${"ä".repeat(100_000)}\n`;
    const log = consoleLog(file);
    for (const line of ["first\n", long]) log.write(line);
    closeSync(file);
    assert.equal(readFileSync(join(folder, "log"), "utf8"), `first\n${long}`);
    rmSync(folder, { recursive: true });
  });

  it("waits a bounded time for a reader that does not read, and not again before it reads", () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-console-"));
    const pipe = join(folder, "pipe");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    // Linux opens both ends of a pipe at once; it takes 64 KiB.
    const descriptor = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
    const wait = { tries: 4, ms: 100 };
    const log = consoleLog(descriptor, wait);
    const line = `${"x".repeat(40_000)}\n`;
    const timesMs = [1, 2, 3, 4].map(() => {
      const beganMs = performance.now();
      log.write(line);
      return performance.now() - beganMs;
    });
    const waitMs = (wait.tries - 1) * wait.ms;
    assert.deepEqual(
      timesMs.map((ms) => ms >= waitMs),
      [false, true, false, false],
      timesMs.join(" "),
    );
    const part = Buffer.alloc(65_536);
    while (readSync(descriptor, part) === part.length);
    log.write("last\n");
    const text = part.subarray(0, readSync(descriptor, part)).toString();
    assert.equal(text, '\n{"level":40,"msg":"3 lines were lost here"}\nlast\n');
    closeSync(descriptor);
    rmSync(folder, { recursive: true });
  });
});

describe("CountedLines", () => {
  it("tells the number of lost lines before the next line, and complains once", () => {
    const written: string[] = [];
    const complaints: string[] = [];
    let isFull = false;
    const lines = new CountedLines(
      (text) => {
        if (isFull) throw new Error("full");
        written.push(text);
      },
      (error) => complaints.push(error.message),
    );
    lines.write("a\n");
    isFull = true;
    for (const line of ["b\n", "c\n"]) lines.write(line);
    isFull = false;
    lines.write("d\n");
    assert.deepEqual(written, ["a\n", '{"level":40,"msg":"2 lines were lost here"}\n', "d\n"]);
    assert.deepEqual(complaints, ["full"]);
  });
});
