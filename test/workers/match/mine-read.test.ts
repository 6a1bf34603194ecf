import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { packTexts } from "../../../src/wire/text-list.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { findMines, readMines } from "../../../src/workers/match/mine-read.ts";
import type { MineSlice } from "../../../src/workers/messages/worker.ts";
import { type Bench, openWorkerState } from "../open-worker-state.ts";

type Mines = Readonly<Record<string, Encodable>>;

/** A worker whose minions have these mines. */
function open(mines: Mines): Bench {
  const bench = openWorkerState();
  for (const [id, mine] of Object.entries(mines)) {
    bench.worker.start.accepted.add(id);
    bench.memory.minions.set(id, { mine: encode(mine, "bin") });
  }
  return bench;
}

const triesMax = 20;

/** The first slice that holds all ids, as a busy machine may end one early; else the last slice. */
function read(bench: Bench, asker: string, ids: string[], functions = ["ip"], bytesMax = 1_000_000): MineSlice {
  const { bytes } = packTexts(ids);
  for (let tried = 1; ; tried += 1) {
    const slice = readMines(bench.worker, { asker, functions, ids: bytes, bytesMax });
    if (slice.state !== "read" || slice.readBytes === bytes.length || tried === triesMax) return slice;
  }
}

/** The content of a slice by function. */
function found(slice: MineSlice): unknown[] {
  assert.ok(slice.state === "read");
  let start = 0;
  return slice.ends.map((end, index) => {
    const head = Uint8Array.of(0x80 | (slice.counts[index] ?? 0));
    const map = decode(Buffer.concat([head, slice.pairs.subarray(start, end)]));
    start = end;
    return Object.fromEntries(map as Map<string, unknown>);
  });
}

const only = (value: string, access: Mines = {}) => ({ __data__: value, __saltmine_acl__: 1, ...access });

describe("readMines", () => {
  it("gives the wanted functions of minions that have them, null values included", () => {
    const bench = open({ a: { ip: "10.0.0.1", other: 1 }, b: { ip: null }, c: { other: 2 } });
    assert.deepEqual(found(read(bench, "a", ["a", "b", "c", "nobody"], ["ip", "other", "none"])), [
      { a: "10.0.0.1", b: null },
      { a: 1, c: 2 },
      {},
    ]);
  });

  it("keeps entries for some minions from the others, and shows no `allow_tgt`", () => {
    const bench = open({
      open: { ip: only("for all") },
      glob: { ip: only("by glob", { allow_tgt: "web*" }) },
      list: { ip: only("by list", { allow_tgt: ["web1", "web2"], allow_tgt_type: "list" }) },
      grain: { ip: only("by grain", { allow_tgt: "role:web", allow_tgt_type: "grain" }) },
      wrong: { ip: only("by nothing", { allow_tgt: "web*", allow_tgt_type: "nothing" }) },
      number: { ip: only("by number", { allow_tgt: 7 }) },
      web1: {},
      db1: {},
    });
    const ids = ["open", "glob", "list", "grain", "wrong", "number"];
    assert.deepEqual(found(read(bench, "db1", ids)), [{ open: "for all" }]);
    assert.deepEqual(
      found(read(bench, "web1", ids)),
      [{ open: "for all", glob: "by glob", list: "by list" }],
      "grains that are not known open nothing",
    );
    bench.memory.minions.set("web1", { grains: encode({ role: "web" }, "bin") });
    assert.deepEqual(Object.keys(found(read(bench, "web1", ids))[0] as object), ["open", "glob", "list", "grain"]);
  });

  it("reads no mine of a minion whose key is gone, and counts unreadable ones", () => {
    const bench = open({ a: { ip: 1 }, b: { ip: 2 }, c: { ip: 3 } });
    bench.worker.start.accepted.delete("a");
    bench.memory.minions.set("b", { mine: Buffer.from([0x93, 1]) });
    assert.deepEqual(found(read(bench, "c", ["a", "b", "c"])), [{ c: 3 }]);
    // A busy machine may need several slices for that; one id is always one slice.
    const before = bench.worker.counters["mines.unreadable"] ?? 0;
    read(bench, "c", ["b"]);
    assert.equal(bench.worker.counters["mines.unreadable"], before + 1);
  });

  it("says how far it came, and does not count an id that is cut off", () => {
    const bench = open({ first: { ip: 1 }, second: { ip: 2 } });
    const { bytes } = packTexts(["first", "second"]);
    const task = { asker: "first", functions: ["ip"], bytesMax: 100 } as const;
    const slice = readMines(bench.worker, { ...task, ids: bytes.slice(0, -1) });
    assert.deepEqual(found(slice), [{ first: 1 }]);
    assert.equal(slice.state === "read" && slice.readBytes, "first".length + 1);
  });

  it("stops where the answer would be too large", () => {
    const bench = open({ a: { ip: "x".repeat(60) }, b: { ip: "y".repeat(60) } });
    assert.equal(read(bench, "a", ["a", "b"], ["ip"], 100).state, "tooLarge");
    assert.equal(read(bench, "a", ["a"], ["ip"], 100).state, "read");
  });

  it("begins with what a target names, and says what is left to read", () => {
    const large = "x".repeat(200 * 1024);
    const bench = open({ a: { ip: large }, b: { ip: large }, c: { ip: large } });
    const match = { kind: "match", target: encode("*", "raw"), targetKind: "glob", delimiter: ":" } as const;
    const task = { kind: "mineFind", asker: "a", functions: ["ip"], bytesMax: 1_000_000, match } as const;
    const { bytes } = packTexts(["a", "b", "c"]);
    const begun = findMines(bench.worker, { state: "ready", count: 3, ids: bytes }, task);
    assert.ok(begun.state === "ready" && begun.slice.state === "read");
    assert.equal(begun.slice.readBytes + begun.rest.length, bytes.length);
    assert.ok(begun.rest.length > 0);
    assert.deepEqual(findMines(bench.worker, { state: "pending" }, task), { state: "pending" });
  });

  it("leaves the thread to others after some bytes", () => {
    const large = "x".repeat(200 * 1024);
    const bench = open({ a: { ip: large }, b: { ip: large }, c: { ip: large } });
    const slice = read(bench, "a", ["a", "b", "c"]);
    assert.ok(slice.state === "read" && slice.readBytes < 6);
  });
});
