import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { PushedUsage } from "../../src/fileserver/pushed-usage.ts";
import { pushedRecountMs } from "../../src/limits.ts";
import { type OpenFiles, openFiles } from "./open-files.ts";

const opened: OpenFiles[] = [];
const open = (options: object): OpenFiles => {
  const files = openFiles({ file_recv: true, ...options });
  opened.push(files);
  return files;
};
afterEach(() => {
  for (const files of opened.splice(0)) files.remove();
});

const mebibyte = 1024 * 1024;
const push = (files: OpenFiles, path: string[], bytes: number, loc = 0, id = "web1") =>
  files.ask({ cmd: "_file_recv", path, loc, data: Buffer.alloc(bytes, 1) }, id);
const pushed = (files: OpenFiles, name: string, id = "web1") =>
  join(files.config.cachedir, "minions", id, "files", name);

describe("a minion's pushed files", () => {
  it("are bounded in number, directories counted, and another minion's are its own", async () => {
    const files = open({ file_recv_minion_max_files: 5 });
    assert.equal(await push(files, ["a"], 1), true);
    assert.equal(await push(files, ["d", "e", "b"], 1), true);
    assert.equal(await push(files, ["d", "c"], 1), true);
    for (const path of [["x"], ["d", "x"], ["y", "z", "x"]]) assert.equal(await push(files, path, 1), false);
    assert.equal(existsSync(pushed(files, "y")), false, "no directory is left behind either");
    assert.equal(await push(files, ["a"], 10), true, "what is there may change");
    assert.equal(await push(files, ["x"], 1, 0, "web2"), true);
    assert.equal(files.server.pushesRefused, 3);
  });

  it("are bounded in bytes together, however they come", async () => {
    const files = open({ file_recv_minion_max_size: 1 });
    assert.equal(await push(files, ["a"], mebibyte / 2), true);
    assert.equal(await push(files, ["a"], mebibyte / 4, mebibyte / 2), true);
    assert.equal(await push(files, ["b"], mebibyte / 2), false);
    assert.equal(await push(files, ["a"], 1, 10 * mebibyte), false, "a hole counts as bytes");
    const many = await Promise.all(Array.from({ length: 8 }, (_, index) => push(files, [`c${index}`], mebibyte / 8)));
    assert.equal(
      many.filter((isKept) => isKept === true).length,
      2,
      "pushes at the same time count one after the other",
    );
    assert.equal(await push(files, ["a"], 10), true, "a shorter one makes room");
    assert.equal(await push(files, ["b"], mebibyte / 2), true);
  });

  it("are counted anew at the bound, since an operator may have removed some", async () => {
    const files = open({});
    let nowMs = 0;
    const usage = new PushedUsage({ entriesMax: 1, bytesMax: mebibyte }, () => nowMs);
    assert.equal(await push(files, ["a"], 1), true);
    const root = pushed(files, ".");
    const more = { entries: 1, bytes: 1 };
    assert.equal(await usage.take(root, more), false);
    rmSync(pushed(files, "a"));
    assert.equal(await usage.take(root, more), false);
    nowMs += pushedRecountMs;
    assert.equal(await usage.take(root, more), true);
  });
});
