import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { findSources, piecesOf, readWhole } from "../../../src/cli/input/copy-sources.ts";
import { copiedFilesBytesMax } from "../../../src/limits.ts";
import type { CallContext } from "../../../src/minion/functions/module-contract.ts";
import { receiveChunk, receiveFiles } from "../../../src/minion/modules/cp/receive.ts";
import type { Value } from "../../../src/wire/values.ts";

describe("files that travel in jobs", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "saltworks-cp-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  const at = (...names: string[]) => join(folder, ...names);
  const bound = (named: { [name: string]: Value }) => ({ named, rest: [], extra: new Map() });

  function chunk(named: { [name: string]: Value }): { value: Value; retcode: number } {
    let retcode = 0;
    const setRetcode = (code: number) => {
      retcode = code;
    };
    const context = { setRetcode } as unknown as CallContext;
    const defaults = { append: false, compressed: true, mode: null };
    return { value: receiveChunk(context, bound({ ...defaults, ...named })), retcode };
  }
  const packed = (text: string) => gzipSync(text).toString("base64");

  it("are written to the destination, into it if it is a directory, or not at all", () => {
    const receive = (dest: string, ...sources: string[]) =>
      receiveFiles(bound({ files: new Map(sources.map((source) => [source, `of ${source}`])), dest }));
    assert.deepEqual(receive(at("a.txt"), "/src/small"), new Map([[at("a.txt"), true]]));
    assert.equal(readFileSync(at("a.txt"), "utf8"), "of /src/small");
    mkdirSync(at("dir"));
    const both = new Map([
      [at("dir/x"), true],
      [at("dir/y"), true],
    ]);
    assert.deepEqual(receive(at("dir"), "/src/x", "/src/y"), both);
    assert.equal(receive(at("no/where"), "/src/x"), "Destination unavailable");
    assert.deepEqual(receive(at("no/x"), "/src/x"), new Map([[at("no/x"), false]]));
    assert.deepEqual(receive("/dev/null", "/src/null"), new Map([["/dev/null", false]]));
  });

  it("are put together of pieces, with their mode, in directories that are made", () => {
    const dest = at("deep/er/file");
    assert.deepEqual(chunk({ dest, chunk: packed("one "), mode: 0o640 }), { value: true, retcode: 0 });
    assert.deepEqual(chunk({ dest, chunk: packed("two"), append: true }), { value: true, retcode: 0 });
    const plain = Buffer.from(" three").toString("base64");
    assert.deepEqual(chunk({ dest, chunk: plain, append: true, compressed: false }), { value: true, retcode: 0 });
    assert.equal(readFileSync(dest, "utf8"), "one two three");
    assert.equal(statSync(dest).mode & 0o777, 0o640);
    assert.equal(chunk({ dest: at("empty/dir"), chunk: null }).value, true);
    assert.ok(statSync(at("empty/dir")).isDirectory());
    assert.equal(chunk({ dest, chunk: null }).value, "Path exists and is a file");
  });

  it("give the system's reason in Python's words, and retcode 1, if they cannot be written", () => {
    const fails = (dest: string) => chunk({ dest, chunk: packed("x") });
    assert.deepEqual(fails(folder), { value: `[Errno 21] Is a directory: '${folder}'`, retcode: 1 });
    assert.equal(fails("/dev/null").value, "[Errno 22] Invalid argument: '/dev/null'");
    assert.equal(fails("/proc/nosuch/x").value, "[Errno 2] No such file or directory: '/proc/nosuch'");
    assert.throws(() => chunk({ dest: at("z"), chunk: "bm8gZ3ppcA==" }), { code: "FUNCTION_FAILED" });
  });

  it("are found below a directory and keep their paths; empty directories count too", () => {
    mkdirSync(at("tree/sub/hollow"), { recursive: true });
    writeFileSync(at("tree/a"), "a");
    writeFileSync(at("tree/sub/b"), "b");
    const { files, emptyDirectories } = findSources([at("tree")], "/dest");
    assert.deepEqual(
      files.map(({ remotePath }) => remotePath),
      ["/dest/tree/a", "/dest/tree/sub/b"],
    );
    assert.deepEqual(emptyDirectories, ["/dest/tree/sub/hollow"]);
    const inside = findSources([`${at("tree")}/`], "/dest").files.map(({ remotePath }) => remotePath);
    assert.deepEqual(inside, ["/dest/a", "/dest/sub/b"]);
    assert.equal(findSources([at("tree/a")], "/dest/name").files[0]?.remotePath, "/dest/name");
    assert.equal(findSources([at("tree/a")], "/dest/").files[0]?.remotePath, "/dest/a");
    assert.throws(() => findSources([at("nosuch")], "/dest"), {
      code: "USAGE",
      message: `${at("nosuch")} does not exist`,
    });
    symlinkSync(".", at("tree/loop"));
    assert.throws(() => findSources([at("tree")], "/dest"), { code: "USAGE" });
    rmSync(at("tree/loop"));
  });

  it("are cut into pieces of the wanted size, an empty one into one piece", async () => {
    const lengths = async (size: number, pieceBytes: number) => {
      writeFileSync(at("cut"), Buffer.alloc(size, 7));
      const found: number[] = [];
      for await (const piece of piecesOf(at("cut"), pieceBytes)) found.push(piece.byteLength);
      return found;
    };
    assert.deepEqual(await lengths(10, 4), [4, 4, 2]);
    assert.deepEqual(await lengths(8, 4), [4, 4]);
    assert.deepEqual(await lengths(0, 4), [0]);
    assert.deepEqual(await lengths(200_000, 150_000), [150_000, 50_000]);
  });

  it("go whole only as text of bounded size; missing ones are named", () => {
    const missing: string[] = [];
    writeFileSync(at("t"), "grüße");
    const read = readWhole([at("t"), at("gone")], (path) => missing.push(path));
    assert.deepEqual([read, missing], [new Map([[at("t"), "grüße"]]), [at("gone")]]);
    writeFileSync(at("bin"), Buffer.of(0xff, 0));
    assert.throws(() => readWhole([at("bin")], () => undefined), /is not text in UTF-8: use --chunked/);
    writeFileSync(at("big"), Buffer.alloc(copiedFilesBytesMax, 97));
    assert.throws(() => readWhole([at("t"), at("big")], () => undefined), /too large for one job/);
  });
});
