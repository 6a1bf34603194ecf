/** What the file server answers ahead: after a hash a minion asks for the file's place and for the file. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { answerKey } from "../../src/fileserver/answer-key.ts";
import { FileHashes } from "../../src/fileserver/backends/local/hashes.ts";
import { LocalFile } from "../../src/fileserver/backends/local/local-file.ts";
import { FileServer } from "../../src/fileserver/file-server.ts";
import { fileTimesSettledMs, smallFileBytesMax, smallFilesKeptBytesMax } from "../../src/limits.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { openFiles } from "./open-files.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-ahead-"));
const files = openFiles();
after(() => {
  rmSync(folder, { recursive: true });
  files.remove();
});
/** Files of this test count as unchanged for long. */
const later = () => Date.now() + 2 * fileTimesSettledMs;

function write(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function local(hashes: FileHashes, name: string): LocalFile {
  const path = join(folder, name);
  return new LocalFile(path, name, statSync(path, { bigint: true }), hashes);
}

describe("a small file's content", () => {
  it("is kept with its hash until the file changes", async () => {
    const hashes = new FileHashes("sha256", later);
    write("small", "abc");
    assert.equal(local(hashes, "small").content(), undefined);
    await local(hashes, "small").hash();
    assert.equal(local(hashes, "small").content()?.toString(), "abc");
    assert.equal(Buffer.from(await local(hashes, "small").read(1, 10)).toString(), "bc");
    write("small", "abcd");
    assert.equal(local(hashes, "small").content(), undefined);
    assert.equal(Buffer.from(await local(hashes, "small").read(0, 10)).toString(), "abcd");
  });

  it("is bounded, each and all", async () => {
    const hashes = new FileHashes("sha256", later);
    write("large", Buffer.alloc(smallFileBytesMax + 1));
    await local(hashes, "large").hash();
    assert.equal(local(hashes, "large").content(), undefined);
    const count = smallFilesKeptBytesMax / smallFileBytesMax + 1;
    for (let index = 0; index < count; index += 1) write(`f${index}`, Buffer.alloc(smallFileBytesMax));
    for (let index = 0; index < count; index += 1) await local(hashes, `f${index}`).hash();
    assert.equal(local(hashes, "f0").content(), undefined);
    assert.equal(local(hashes, "f1").content()?.length, smallFileBytesMax);
  });
});

/** A server with one file, `a`, whose content is `content`. */
function server(): FileServer {
  const hashes = new FileHashes("sha256", later);
  write("a", "content");
  return new FileServer(files.settings, [
    {
      name: "roots",
      environments: () => ["base"],
      find: async () => local(hashes, "a"),
      lists: async () => undefined,
      clearLists: async () => [],
      update: async () => ({ isChanged: false, changed: [], added: [], removed: [] }),
    },
  ]);
}

type Members = { readonly [name: string]: Value };
const asked = { path: "a", saltenv: "base" };
const ask = (of: FileServer, cmd: string, members: Members, onAhead?: (key: string, answer: Encodable) => void) =>
  of.answer(cmd, new Map(Object.entries({ ...asked, ...members })), "web1", onAhead === undefined ? {} : { onAhead });

/** What the server answers ahead to one request, beside what it answers if it is asked the next ones. */
async function aheadOf(cmd: string, members: Members, next: readonly (readonly [string, Members])[]) {
  const of = server();
  const ahead = new Map<string, Encodable>();
  await ask(of, cmd, members, (key, answer) => void ahead.set(key, answer));
  const told = await Promise.all(
    next.map(async ([name, more]) => {
      const all: Members = { ...asked, ...more };
      return [answerKey(name, (member) => all[member]), encoded(await ask(of, name, more))] as const;
    }),
  );
  return { ahead: new Map([...ahead].map(([key, answer]) => [key, encoded(answer)])), asked: new Map(told) };
}

const encoded = (answer: Encodable) => encode(answer, "raw").toString("hex");

describe("answers ahead", () => {
  it("to a hash are the file's place, its piece, and the empty piece, as if they were asked for", async () => {
    const next = [
      ["_file_find", {}],
      ["_serve_file", { loc: 0 }],
      ["_serve_file", { loc: 7 }],
    ] as const;
    const answers = await aheadOf("_file_hash", {}, next);
    assert.deepEqual(answers.ahead, answers.asked);
  });

  it("to the last piece is the empty one, also of a compressed file", async () => {
    for (const more of [{}, { gzip: 5 }]) {
      const answers = await aheadOf("_serve_file", { loc: 2, ...more }, [["_serve_file", { loc: 7, ...more }]]);
      assert.deepEqual(answers.ahead, answers.asked);
    }
  });

  it("to the empty piece there are none", async () => {
    assert.equal((await aheadOf("_serve_file", { loc: 7 }, [])).ahead.size, 0);
  });
});

describe("an answer that tells a part of a file", () => {
  it("is a piece, and a hash without the content", async () => {
    const isPart = async (cmd: string, content: string | Uint8Array) => {
      const of = server();
      write("a", content);
      let told = false;
      const onPart = () => {
        told = true;
      };
      const load = new Map<Value, Value>(Object.entries({ ...asked, loc: 0 }));
      await of.answer(cmd, load, "web1", { onPart, onAhead: () => undefined });
      return told;
    };
    const large = new Uint8Array(smallFileBytesMax + 1);
    for (const cmd of ["_serve_file", "_file_hash_and_stat"]) assert.equal(await isPart(cmd, "x"), true, cmd);
    for (const cmd of ["_file_find", "_file_hash"]) assert.equal(await isPart(cmd, "x"), false, cmd);
    assert.equal(await isPart("_file_hash", large), true);
  });
});

describe("the key of an answer to a request for files", () => {
  const keyOf = (all: Readonly<Record<string, Value>>) => answerKey("_file_find", (member) => all[member]);

  it("differs for what has another answer, and is there only for short texts and whole numbers", () => {
    assert.notEqual(keyOf({ path: "a" }), keyOf({ path: "a", saltenv: "base" }));
    for (const value of [null, true, Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 60, "x".repeat(4_097)])
      assert.equal(keyOf({ path: "a", loc: value }), undefined, String(value));
  });
});
