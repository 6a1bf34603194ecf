/** The file of `event_return: rawfile_json`: only regular files are written, and a file system that hangs holds up no event of another returner. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { EventRow } from "../../../src/databases/contract/events.ts";
import { RawfileEvents } from "../../../src/databases/events/rawfile-json.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const rows = (...serials: number[]): EventRow[] => serials.map((serial) => ({ tag: `t${serial}`, data: "{}", serial }));

describe("rawfile_json", { timeout: 60_000 }, () => {
  const temporary = temporaryDirectories();

  it("refuses what is not a regular file by name, without waiting for a reader", async () => {
    const [fifo, directory] = [join(temporary(), "fifo"), join(temporary(), "directory")];
    execFileSync("mkfifo", [fifo]);
    mkdirSync(directory);
    for (const path of [fifo, directory, "/dev/null"]) {
      const refusal = `${path} cannot be written (it is not a regular file)`;
      await assert.rejects(new RawfileEvents(path).check(), { code: "DATABASE_FAILED", message: refusal });
    }
    const file = join(temporary(), "new");
    await new RawfileEvents(file).write(rows(1));
    assert.equal(readFileSync(file, "utf8"), '{"data": {}, "tag": "t1"}\n');
  });

  it("leaves a write that hangs, begins no other meanwhile, and writes no event twice once it has ended", async () => {
    const written: string[] = [];
    const hanging: (() => void)[] = [];
    let hangs = true;
    const append = async (_path: string, text: string) => {
      if (hangs) await new Promise<void>((resolve) => hanging.push(resolve));
      written.push(text);
    };
    const file = new RawfileEvents("/srv/events", { append, timeoutMs: 1 });
    await assert.rejects(file.write(rows(1, 2)), /\/srv\/events cannot be written \(no answer within 0\.001 s\)/);
    await assert.rejects(file.write(rows(1, 2)), /an earlier write has not ended yet/);
    await assert.rejects(file.check(), /an earlier write has not ended yet/);
    assert.equal(hanging.length, 1);
    hangs = false;
    hanging[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(await file.write(rows(1, 2, 3)), { added: 1, present: 2 });
    assert.deepEqual(
      written.flatMap((text) => text.split("\n")).filter((line) => line !== ""),
      ["t1", "t2", "t3"].map((tag) => `{"data": {}, "tag": "${tag}"}`),
    );
  });
});
