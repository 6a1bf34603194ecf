import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { bytesField } from "../../src/wire/fields.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { plain } from "../plain.ts";
import { type OpenFiles, openFiles } from "./open-files.ts";

const opened: OpenFiles[] = [];
afterEach(() => {
  for (const files of opened.splice(0)) files.remove();
});
function open(...args: Parameters<typeof openFiles>): OpenFiles {
  const files = openFiles(...args);
  opened.push(files);
  return files;
}

const missing = { path: "", rel: "" };
const find = async (files: OpenFiles, path: string, saltenv = "base") =>
  plain(await files.ask({ cmd: "_file_find", path, saltenv })) as { path: string; rel: string; stat?: number[] };

describe("a name", () => {
  it("finds the first root's file, with its numbers", async () => {
    const roots = { file_roots: { base: ["FOLDER/one", "FOLDER/two"] } };
    const files = open(roots, { "one/a": "1", "two/a": "22", "two/sub/b": "333" });
    const { ino, mode } = statSync(join(files.folder, "one/a"));
    const found = await find(files, "a");
    assert.equal(found.path, join(files.folder, "one/a"));
    assert.deepEqual([found.stat?.[0], found.stat?.[1], found.stat?.[6], found.stat?.length], [mode, ino, 1, 10]);
    assert.equal((await find(files, "sub//./b")).rel, "sub/b");
    assert.equal((await find(files, "a?index=1")).path, join(files.folder, "two/a"));
    assert.deepEqual(await find(files, "a?index=7"), missing);
    assert.deepEqual(await find(files, "sub"), missing);
  });

  it("never leads outside its root", async () => {
    const files = open({}, { secret: "s", "base/a": "1", "base/sub/b": "2" });
    const outside = join(files.folder, "secret");
    for (const path of [
      "../secret",
      "sub/../../secret",
      "..",
      outside,
      `/${outside}`,
      "a\0",
      "sub/..",
      "",
      ".",
      "|../secret",
    ]) {
      assert.deepEqual(await find(files, path), missing, JSON.stringify(path));
      const served = await files.ask({ cmd: "_serve_file", path, saltenv: "base", loc: 0 });
      assert.deepEqual(plain(served), { data: "", dest: "" }, JSON.stringify(path));
      assert.equal(await files.ask({ cmd: "_file_hash", path, saltenv: "base" }), "");
    }
    for (const saltenv of ["..", "../base", "base/sub", "", "nosuch"]) {
      assert.deepEqual(await find(files, "b", saltenv), missing, saltenv);
    }
  });

  it("follows links out of the root only where that is allowed", async () => {
    for (const isAllowed of [true, false]) {
      const files = open({ fileserver_followsymlinks: isAllowed }, { secret: "s", "base/a": "1" });
      symlinkSync(join(files.folder, "secret"), join(files.folder, "base/out"));
      symlinkSync(files.folder, join(files.folder, "base/up"));
      symlinkSync("a", join(files.folder, "base/in"));
      assert.equal((await find(files, "in")).rel, "in");
      assert.equal((await find(files, "out")).rel, isAllowed ? "out" : "");
      assert.equal((await find(files, "up/secret")).rel, isAllowed ? "up/secret" : "");
    }
  });

  it("finds no ignored file, and none in an environment that `__env__` cannot stand for", async () => {
    const roots = { file_roots: { base: ["FOLDER/base"], __env__: ["FOLDER/envs/__env__"] } };
    const ignoring = { file_ignore_regex: ["/\\.git($|/)", "(?i)BACKUP"], file_ignore_glob: "*.pyc" };
    const files = open(
      { ...roots, ...ignoring },
      {
        "base/x.pyc": "1",
        "base/.git/config": "1",
        "base/the-backup-2": "1",
        "base/x.py": "1",
        "envs/qa/only": "qa",
        "envs/only": "above",
      },
    );
    assert.deepEqual(
      await Promise.all(
        ["x.pyc", ".git/config", "the-backup-2", "x.py"].map(async (path) => (await find(files, path)).rel),
      ),
      ["", "", "", "x.py"],
    );
    assert.equal((await find(files, "only", "qa")).path, join(files.folder, "envs/qa/only"));
    assert.equal((await find(files, "only?saltenv=qa")).rel, "only");
    for (const saltenv of ["", "..", ".", "/", files.folder, "qa/../..", "qa/..", "..\\qa", "x\0", "x".repeat(5_000)]) {
      assert.deepEqual(await find(files, "only", saltenv), missing);
      assert.deepEqual(await find(files, `only?saltenv=${saltenv}`), missing);
      const served = await files.ask({ cmd: "_serve_file", path: "only", saltenv, loc: 0 });
      assert.deepEqual(plain(served), { data: "", dest: "" });
      assert.equal(await files.ask({ cmd: "_file_hash", path: "only", saltenv }), "");
      assert.deepEqual(await files.ask({ cmd: "_file_list", saltenv, prefix: "" }), []);
    }
    assert.deepEqual(await files.ask({ cmd: "_file_list", saltenv: "qa", prefix: "" }), ["only"]);
    assert.deepEqual(await files.ask({ cmd: "_file_envs" }), ["__env__", "base"]);
    for (let index = 0; index < 20; index += 1)
      assert.deepEqual(await files.ask({ cmd: "_file_list", saltenv: `invented-${index}`, prefix: "" }), []);
    const lists = readdirSync(join(files.config.cachedir, "file_lists/roots"));
    assert.deepEqual(lists, ["qa.p"], "names that minions invent leave no files behind");
  });

  it("finds nothing while `roots` is not among the backends, and missing backends are reported", async () => {
    const files = open({ fileserver_backend: ["git"] }, { "base/a": "1" });
    assert.deepEqual(await find(files, "a"), missing);
    assert.deepEqual(await files.ask({ cmd: "_file_list", saltenv: "base" }), []);
    assert.match(open({ file_ignore_regex: ["("] }).settings.faults.join(), /file_ignore_regex \( is left out/);
  });
});

describe("a file", () => {
  async function fetchAll(
    files: OpenFiles,
    path: string,
    gzip?: number,
  ): Promise<{ content: Buffer; sizes: number[] }> {
    const pieces: Buffer[] = [];
    for (let loc = 0; ; ) {
      const load = { cmd: "_serve_file", path, saltenv: "base", loc, ...(gzip === undefined ? {} : { gzip }) };
      const reply = (await files.ask(load)) as ValueMap;
      assert.equal(reply.get("dest"), path);
      const data = Buffer.from(bytesField(reply, "data") ?? []);
      if (data.length === 0) return { content: Buffer.concat(pieces), sizes: pieces.map((piece) => piece.length) };
      if (gzip !== undefined) assert.equal(reply.get("gzip"), gzip);
      pieces.push(gzip === undefined ? data : gunzipSync(data));
      loc += pieces.at(-1)?.length ?? 0;
    }
  }

  it("comes in pieces of file_buffer_size, until there is no more, compressed where that is asked for", async () => {
    const content = randomBytes(10_000);
    const files = open({ file_buffer_size: 4_096 }, { "base/big": content, "base/empty": "" });
    const plainly = await fetchAll(files, "big");
    assert.ok(content.equals(plainly.content));
    assert.deepEqual(plainly.sizes, [4_096, 4_096, 1_808]);
    assert.ok(content.equals((await fetchAll(files, "big", 9)).content));
    assert.deepEqual((await fetchAll(files, "empty")).sizes, []);
    const load = { cmd: "_serve_file", path: "big", saltenv: "base" };
    const refused = { data: "", dest: "" };
    for (const loc of [-1, "0", null]) assert.deepEqual(plain(await files.ask({ ...load, loc })), refused);
    assert.deepEqual(plain(await files.ask({ ...load, loc: 99_999 })), { data: "", dest: "big" });
    const unfit = (await files.ask({ ...load, loc: 0, gzip: 77 })) as ValueMap;
    assert.deepEqual([unfit.has("gzip"), bytesField(unfit, "data")?.length], [false, 4_096]);
  });

  it("is hashed by hash_type, and anew when it has changed", async () => {
    const files = open({ hash_type: "md5" }, { "base/a": "one" });
    const md5 = (text: string) => ({ hash_type: "md5", hsum: createHash("md5").update(text).digest("hex") });
    const ask = async () => plain(await files.ask({ cmd: "_file_hash", path: "a", saltenv: "base" }));
    assert.deepEqual(await ask(), md5("one"));
    assert.deepEqual(await ask(), md5("one"));
    files.write("base/a", "two");
    assert.deepEqual(await ask(), md5("two"));
    const [hash, stat] = plain(await files.ask({ cmd: "_file_hash_and_stat", path: "a", saltenv: "base" })) as [
      unknown,
      number[],
    ];
    assert.deepEqual([hash, stat[6]], [md5("two"), 3]);
    assert.deepEqual(plain(await files.ask({ cmd: "_file_hash_and_stat", path: "no", saltenv: "base" })), ["", null]);
  });
});

describe("lists of files", () => {
  const tree = { "base/a": "1", "base/sub/b": "2", "base/sub/deep/c": "3", "dev/a": "4" };
  const list = async (files: OpenFiles, cmd: string, more = {}) =>
    plain(await files.ask({ cmd, saltenv: "base", prefix: "", ...more }));

  it("name files, directories, empty directories and links that begin with the prefix", async () => {
    const files = open({ file_ignore_glob: ["*.pyc"] }, { ...tree, "base/x.pyc": "" });
    mkdirSync(join(files.folder, "base/hollow"));
    symlinkSync("a", join(files.folder, "base/in"));
    symlinkSync("/etc/hostname", join(files.folder, "base/out"));
    symlinkSync(".", join(files.folder, "base/sub/circle"));
    assert.deepEqual(await list(files, "_file_list"), ["a", "in", "out", "sub/b", "sub/deep/c"]);
    assert.deepEqual(await list(files, "_file_list", { prefix: "/sub/" }), ["sub/b", "sub/deep/c"]);
    assert.deepEqual(await list(files, "_dir_list"), ["hollow", "sub", "sub/circle", "sub/deep"]);
    assert.deepEqual(await list(files, "_file_list_emptydirs"), ["hollow"]);
    assert.deepEqual(await list(files, "_symlink_list"), { in: "a", "sub/circle": "." });
    assert.deepEqual(await list(files, "_symlink_list", { prefix: "sub" }), { "sub/circle": "." });
    assert.deepEqual(await list(files, "_file_list", { saltenv: "nosuch" }), []);
    assert.deepEqual(await list(files, "_symlink_list", { saltenv: "nosuch" }), {});
  });

  it("leave out links or do not follow them, as configured", async () => {
    const hiding = open({ fileserver_ignoresymlinks: true }, tree);
    symlinkSync("a", join(hiding.folder, "base/in"));
    assert.deepEqual(await list(hiding, "_file_list"), ["a", "sub/b", "sub/deep/c"]);
    const staying = open({ fileserver_followsymlinks: false }, tree);
    symlinkSync("/etc", join(staying.folder, "base/etc"));
    assert.deepEqual(await list(staying, "_file_list"), ["a", "sub/b", "sub/deep/c"]);
    assert.deepEqual(await list(staying, "_symlink_list"), { etc: "/etc" });
  });

  it("are kept at Salt's place for their time, and made again when that file is missing or old", async () => {
    const files = open({ fileserver_list_cache_time: 3_600 }, tree);
    const kept = join(files.folder, "cache/file_lists/roots/base.p");
    assert.deepEqual(await list(files, "_file_list"), ["a", "sub/b", "sub/deep/c"]);
    assert.ok(existsSync(kept));
    files.write("base/new", "5");
    assert.deepEqual(await list(files, "_file_list"), ["a", "sub/b", "sub/deep/c"]);
    unlinkSync(kept);
    assert.deepEqual(await list(files, "_file_list"), ["a", "new", "sub/b", "sub/deep/c"]);
    files.write("base/newer", "6");
    const longAgo = Date.now() / 1_000 - 3_700;
    utimesSync(kept, longAgo, longAgo);
    assert.ok((await files.server.list("files", "base")).includes("newer"));
    assert.deepEqual(await files.server.clearLists(["dev"]), new Map());
    await files.server.list("files", "dev");
    assert.deepEqual(await files.server.clearLists(undefined), new Map([["roots", ["base", "dev"]]]));
    writeFileSync(kept, "rubbish");
    assert.ok((await files.server.list("files", "base")).includes("newer"));
  });
});

describe("changes of files", () => {
  it("are reported since the last call", async () => {
    const files = open({}, { "base/a": "1", "base/b": "1" });
    const at = (name: string) => join(files.folder, "base", name);
    const update = async () => (await files.server.update()).get("roots");
    assert.deepEqual((await update())?.added.toSorted(), [at("a"), at("b")]);
    assert.equal((await update())?.isChanged, false);
    utimesSync(at("a"), 1, 1);
    unlinkSync(at("b"));
    files.write("base/c", "1");
    assert.deepEqual(await update(), { isChanged: true, changed: [at("a")], added: [at("c")], removed: [at("b")] });
  });
});

describe("files from minions", () => {
  const piece = { cmd: "_file_recv", path: ["etc", "fstab"], loc: 0, data: Buffer.from("one "), size: 7 };

  it("are accepted, if allowed, from proven minions, below their directory", async () => {
    const files = open({ file_recv: true, file_recv_max_size: 1 });
    const path = join(files.folder, "cache/minions/web1/files/etc/fstab");
    assert.equal(await files.ask(piece), false);
    assert.equal(await files.ask(piece, "web1"), true);
    assert.equal(await files.ask({ ...piece, loc: 4, data: Buffer.from("two") }, "web1"), true);
    assert.equal(readFileSync(path, "utf8"), "one two");
    assert.equal(await files.ask({ ...piece, data: "x" }, "web1"), true);
    assert.equal(readFileSync(path, "utf8"), "x");
    const wrong = [
      { path: ["..", "x"] },
      { path: ["a/../../x"] },
      { path: [] },
      { path: ["x\0"] },
      { path: ["/etc", "x"], loc: -1 },
      { path: "text" },
      { loc: 1024 * 1024 },
      { path: ["etc"] },
    ];
    for (const more of wrong) assert.equal(await files.ask({ ...piece, ...more }, "web1"), false, JSON.stringify(more));
    assert.equal(await files.ask(piece, "../web1"), false);
  });

  it("are refused by default", async () => {
    assert.equal(await open().ask(piece, "web1"), false);
  });
});
