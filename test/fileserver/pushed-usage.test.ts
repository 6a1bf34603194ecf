import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { PushedUsage } from "../../src/fileserver/pushed/by-minion.ts";
import { PushedTotal } from "../../src/fileserver/pushed/total.ts";
import { pushedRecountMs, pushedTotalRecountMs } from "../../src/limits.ts";
import type { Value } from "../../src/wire/values.ts";
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
/** The bound that refuses such a push. */
async function refusalOf(files: OpenFiles, path: string[], bytes: number, id = "web1"): Promise<string | undefined> {
  let refusedBy: string | undefined;
  const load = new Map<Value, Value>(Object.entries({ path, loc: 0, data: Buffer.alloc(bytes, 1) }));
  const onPushRefused = (bound: string) => {
    refusedBy = bound;
  };
  const isKept = await files.server.answer("_file_recv", load, id, { onPushRefused });
  assert.equal(isKept, refusedBy === undefined);
  return refusedBy;
}
const ample = { entriesMax: 1_000, bytesMax: 1_000 * mebibyte };
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
    assert.equal(await refusalOf(files, ["x"], 1), "file_recv_minion_max_files");
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

  it("are counted again at the bound, because an operator may have removed some", async () => {
    const files = open({});
    let nowMs = 0;
    const total = new PushedTotal(join(files.config.cachedir, "minions"), ample);
    const usage = new PushedUsage({ entriesMax: 1, bytesMax: mebibyte }, total, () => nowMs);
    assert.equal(await push(files, ["a"], 1), true);
    const root = pushed(files, ".");
    const more = { entries: 1, bytes: 1 };
    assert.equal(await usage.take(root, more), "file_recv_minion_max_files");
    rmSync(pushed(files, "a"));
    assert.equal(await usage.take(root, more), "file_recv_minion_max_files");
    nowMs += pushedRecountMs;
    assert.equal(await usage.take(root, more), undefined);
  });
});

describe("the pushed files of all minions", () => {
  it("are bounded in bytes and in number, each refusal naming its bound", async () => {
    const files = open({ file_recv_total_max_size: 1, file_recv_total_max_files: 6, file_recv_max_size: 2 });
    assert.equal(await refusalOf(files, ["a"], mebibyte / 2, "web1"), undefined);
    assert.equal(await refusalOf(files, ["a"], mebibyte / 2, "web2"), undefined);
    assert.equal(await refusalOf(files, ["a"], 1, "web3"), "file_recv_total_max_size");
    assert.equal(existsSync(pushed(files, "a", "web3")), false);
    assert.equal(await refusalOf(files, ["a"], 10, "web1"), undefined, "a shorter one makes room");
    assert.equal(await refusalOf(files, ["d", "a"], 10, "web3"), undefined);
    assert.equal(await refusalOf(files, ["x", "y", "a"], 10, "web4"), "file_recv_total_max_files");
    assert.equal(await refusalOf(files, ["b"], 3 * mebibyte), "file_recv_max_size");
    assert.deepEqual(files.server.pushed, { entries: 4, bytes: mebibyte / 2 + 20 });
  });

  it("are counted when a file server starts, data of minions beside them not", async () => {
    const files = open({ file_recv_total_max_size: 1 });
    mkdirSync(pushed(files, "sub", "old"), { recursive: true });
    writeFileSync(pushed(files, join("sub", "big"), "old"), Buffer.alloc(mebibyte - 100));
    writeFileSync(join(files.config.cachedir, "minions", "old", "data.p"), Buffer.alloc(5_000));
    assert.equal(await refusalOf(files, ["a"], 200), "file_recv_total_max_size");
    assert.equal(await refusalOf(files, ["a"], 50), undefined);
  });

  it("no longer count a piece that could not be kept", async () => {
    const files = open({ file_recv_total_max_size: 1 });
    assert.equal(await push(files, ["d", "a"], 1), true);
    for (let turn = 0; turn < 4; turn += 1) {
      assert.equal(await push(files, ["d"], mebibyte / 2), false, "a directory is in its place");
      assert.equal(await push(files, ["d", "a", "b"], mebibyte / 2), false, "a file is on its way");
      assert.equal(await push(files, ["late"], 1, mebibyte / 2), false, "its first piece is missing");
    }
    assert.equal(await push(files, ["c"], mebibyte / 2), true);
  });

  it("are counted again at the bound, because an operator may have removed some files", async () => {
    const files = open({});
    const minions = join(files.config.cachedir, "minions");
    assert.equal(await push(files, ["a"], 1_000), true);
    assert.equal(await push(files, ["a"], 1_000, 0, "web2"), true);
    let nowMs = 0;
    const total = new PushedTotal(minions, { entriesMax: 10, bytesMax: 2_000 }, () => nowMs);
    const take = async (bytes: number) => {
      const more = { entries: 1, bytes };
      await total.prepare(more);
      const refusal = total.take(more);
      total.settle(more, undefined);
      return refusal;
    };
    assert.equal(await take(1), "bytes");
    rmSync(pushed(files, "a", "web2"));
    nowMs += pushedTotalRecountMs - 1;
    assert.equal(await take(1), "bytes", "not for each push of a flood");
    nowMs += 1;
    assert.equal(await take(1_000), undefined);
    assert.equal(await take(1), "bytes");
  });

  it("refuse pushes until they are counted, and never leave out a push during a count", async () => {
    const files = open({});
    assert.equal(await push(files, ["a"], 1_000), true);
    const total = new PushedTotal(join(files.config.cachedir, "minions"), ample);
    const more = { entries: 1, bytes: 500 };
    assert.equal(total.take(more), "uncounted");
    await total.prepare(more);
    assert.equal(total.take(more), undefined);
    // Not on disk yet when the next count begins.
    const counting = total.begin();
    const other = { entries: 0, bytes: 7 };
    assert.equal(total.take(other), undefined);
    total.settle(other, undefined);
    await counting;
    assert.deepEqual(total.known, { entries: 2, bytes: 1_507 });
    total.settle(more, more);
    assert.deepEqual(total.known, { entries: 1, bytes: 1_007 });
  });
});
