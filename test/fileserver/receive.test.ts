/** A disk that takes a part of a pushed file's piece: the minion gets success only after all of it is written. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { it, mock } from "node:test";
import { openFiles } from "./open-files.ts";

it("a piece of which the disk took a part is written on, and fails if the rest does", async () => {
  const files = openFiles({ file_recv: true });
  const handle = await open("/dev/null", "r");
  const prototype: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { write } = prototype;
  const data = Buffer.from("0123456789");
  const push = (name: string) => files.ask({ cmd: "_file_recv", path: [name], loc: 0, data }, "web1");
  let room = Number.POSITIVE_INFINITY;
  const short = mock.method(prototype, "write", function (this: FileHandle, ...args: unknown[]) {
    const [bytes, offset, length, position] = args as [Uint8Array, number, number, number];
    if (room <= 0) return Promise.reject(Object.assign(new Error("no room"), { code: "ENOSPC" }));
    room -= 3;
    return Reflect.apply(write, this, [bytes, offset, Math.min(length, 3), position]);
  } as never);
  try {
    assert.equal(await push("whole"), true);
    const path = (name: string) => join(files.config.cachedir, "minions", "web1", "files", name);
    assert.equal(readFileSync(path("whole"), "utf8"), "0123456789");
    room = 6;
    await assert.rejects(push("part"), { code: "ENOSPC" });
  } finally {
    short.mock.restore();
    files.remove();
  }
});
