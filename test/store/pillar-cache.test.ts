/** Kept pillars on disk: Salt's layout, modes, and files that are damaged, of another user or with hostile names. */
import assert from "node:assert/strict";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pillarCacheEnvironmentsMax } from "../../src/limits.ts";
import { PillarCacheFiles } from "../../src/store/pillar-cache.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";

let root = "";
let folder = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pillar-cache-"));
  folder = join(root, "pillar_cache");
});
afterEach(() => rmSync(root, { recursive: true }));

const pillar: ValueMap = new Map<Value, Value>([["a", new Map<Value, Value>([[1, Uint8Array.of(1, 2)]])]]);

describe("kept pillars on disk", () => {
  it("are found until they are too old, each environment by itself", () => {
    const files = new PillarCacheFiles(folder, 1_000);
    assert.equal(files.find("web1", null, 5_000), undefined);
    files.keep("web1", null, pillar, 5_000);
    files.keep("web1", "dev", new Map([["b", 1]]), 5_500);
    assert.deepEqual(files.find("web1", null, 5_600), pillar);
    assert.deepEqual(files.find("web1", "dev", 6_500), new Map([["b", 1]]));
    assert.equal(files.find("web1", "dev", 6_501), undefined);
    // The clock was set back.
    assert.equal(files.find("web1", "dev", 5_499), undefined);
    files.keep("web1", "qa", new Map(), 9_000);
    assert.equal(files.find("web1", null, 9_000), undefined);
    files.forget("web1");
    files.forget("web1");
    assert.equal(files.find("web1", "qa", 9_000), undefined);
  });

  it("have Salt's layout, and modes that keep others out of what Salt has made", () => {
    mkdirSync(folder, { mode: 0o755 });
    const files = new PillarCacheFiles(folder, 1_000);
    files.keep("web1", null, pillar, 5_500);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder, "web1")).mode & 0o777, 0o600);
    const stored = decode(readFileSync(join(folder, "web1"))) as ValueMap;
    assert.deepEqual([...stored.keys()], ["CacheDisk_data", "CacheDisk_cachetime"]);
    assert.deepEqual(stored.get("CacheDisk_data"), new Map([["web1", new Map<Value, Value>([[null, pillar]])]]));
    const salts = new Map([
      ["CacheDisk_data", new Map([["web2", new Map([["base", new Map([["s", 1]])]])]])],
      ["CacheDisk_cachetime", new Map([["web2", 5.25]])] as never,
    ]);
    writeFileSync(join(folder, "web2"), encode(salts, "bin"));
    assert.deepEqual(files.find("web2", "base", 6_000), new Map([["s", 1]]));
  });

  it("are as good as absent where the file is damaged, empty or another's", () => {
    const files = new PillarCacheFiles(folder, 1_000_000);
    files.keep("web1", null, pillar, 5_000);
    const whole = readFileSync(join(folder, "web1"));
    for (const bytes of [whole.subarray(0, 20), Buffer.alloc(0), Buffer.from("text"), encode(["x"], "bin")]) {
      writeFileSync(join(folder, "web1"), bytes);
      assert.equal(files.find("web1", null, 5_000), undefined);
    }
    writeFileSync(join(folder, "web2"), whole);
    assert.equal(files.find("web2", null, 5_000), undefined);
    files.keep("web1", null, pillar, 5_000);
    assert.deepEqual(files.find("web1", null, 5_000), pillar);
  });

  it("come again in a directory that was removed, and are written anew where what is there cannot be read", () => {
    const files = new PillarCacheFiles(folder, 1_000);
    writeFileSync(folder, "");
    assert.throws(() => files.keep("web1", null, pillar, 5_000), { code: "EEXIST" });
    rmSync(folder);
    for (let time = 0; time < 2; time += 1) {
      files.keep("web1", null, pillar, 5_000);
      assert.deepEqual(files.find("web1", null, 5_000), pillar);
      rmSync(folder, { recursive: true });
    }
    mkdirSync(folder);
    symlinkSync("web2", join(folder, "web2"));
    assert.equal(files.find("web2", null, 5_000), undefined);
    files.keep("web2", null, pillar, 5_000);
    assert.deepEqual(files.find("web2", null, 5_000), pillar);
  });

  it("are bounded in environments, of no name that leads elsewhere, and go when they are too old", () => {
    mkdirSync(folder);
    writeFileSync(join(folder, "gone"), "x");
    utimesSync(join(folder, "gone"), 1, 1);
    const files = new PillarCacheFiles(folder, 60_000);
    const nowMs = Date.now();
    for (const id of ["..", ".", "", "a/b", "../x", "a\0b", "x".repeat(256)]) {
      files.keep(id, null, pillar, nowMs);
      files.forget(id);
      assert.equal(files.find(id, null, nowMs), undefined);
    }
    for (let index = 0; index <= pillarCacheEnvironmentsMax; index += 1) files.keep("web1", `e${index}`, pillar, nowMs);
    assert.equal(files.find("web1", "e0", nowMs), undefined);
    assert.deepEqual(files.find("web1", "e1", nowMs), pillar);
    assert.deepEqual(readdirSync(folder), ["web1"]);
  });
});
