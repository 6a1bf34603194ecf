import assert from "node:assert/strict";
import { describe, it } from "node:test";
import pino from "pino";
import { MineAnswers } from "../../../src/master/answers/mines.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { packTexts } from "../../../src/wire/text-list.ts";
import type { MineAsk } from "../../../src/workers/messages/deferred.ts";
import type { MineFindTask, MineReadTask, MineSlice } from "../../../src/workers/messages/worker.ts";
import { createPartitionKey, Partitioner } from "../../../src/workers/threads/partition.ts";
import type { PoolTask, WorkerPool } from "../../../src/workers/threads/worker-pool.ts";

type Task = MineReadTask | MineFindTask | { readonly kind: "sealReply"; readonly parts: Uint8Array[] };
type Mines = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Each worker reads one minion at a time. `seal`: the result of sealing a whole answer. */
function poolOf(slots: readonly Mines[], seal: (packed: Buffer) => Promise<Uint8Array> | Uint8Array) {
  const offer = async (slot: number, job: PoolTask) => {
    const task = job.build().task as Task;
    const mines = slots[slot] ?? {};
    if (task.kind === "mineFind") {
      const { count, bytes } = packTexts(Object.keys(mines));
      const slice = sliceOf({ ...task, ids: bytes }, mines);
      return { state: "ready", count, rest: bytes.slice(slice.readBytes), slice };
    }
    if (task.kind === "sealReply") return seal(Buffer.concat(task.parts));
    return sliceOf(task, mines);
  };
  return { slotCount: slots.length, offer } as unknown as WorkerPool;
}

function sliceOf({ ids, functions }: Pick<MineReadTask, "ids" | "functions">, mines: Mines) {
  if (ids.length === 0) return read({ readBytes: 0, counts: [], ends: [], pairs: new Uint8Array() });
  const length = (ids[0] ?? 0) & 0x1f;
  const id = Buffer.from(ids.subarray(1, 1 + length)).toString();
  const parts = functions.map((name) => {
    const value = mines[id]?.[name];
    return value === undefined ? Buffer.alloc(0) : Buffer.concat([encode(id, "raw"), encode(value, "raw")]);
  });
  let end = 0;
  const ends = parts.map((part) => {
    end += part.length;
    return end;
  });
  const counts = parts.map((part) => (part.length > 0 ? 1 : 0));
  return read({ readBytes: 1 + length, counts, ends, pairs: Uint8Array.from(Buffer.concat(parts)) });
}

type Read = Extract<MineSlice, { state: "read" }>;
const read = (slice: Omit<Read, "state">): Read => ({ state: "read", ...slice });

function open(
  slots: readonly Mines[],
  answerBytesMax = 1_000,
  seal = (packed: Buffer): Uint8Array | Promise<Uint8Array> => packed,
) {
  const partitioner = new Partitioner(createPartitionKey(), 16);
  const logger = pino({ level: "silent" });
  return new MineAnswers({ pool: poolOf(slots, seal), partitioner, logger, answerBytesMax });
}

function askFor(functions: string[], isByFunction = functions.length > 1): MineAsk {
  const seal = { key: "session", nonce: "" } as const;
  return { id: "web1", target: encode("*", "raw"), targetKind: "glob", functions, isByFunction, seal };
}

const fleet = [{ a: { ip: "1", os: "x" }, b: { ip: "2" } }, { c: { ip: "3" } }, {}];

describe("MineAnswers", () => {
  it("joins the slices of all workers: by minion, or by function and minion", async () => {
    const answers = open(fleet);
    const ofOne = decode(await answers.answer(askFor(["ip"])));
    assert.deepEqual([...(ofOne as Map<string, string>)].toSorted(), [
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ]);
    const ofTwo = decode(await answers.answer(askFor(["os", "ip", "none"]))) as Map<string, Map<string, string>>;
    assert.deepEqual([...ofTwo.keys()], ["os", "ip"]);
    assert.deepEqual([...(ofTwo.get("os") ?? [])], [["a", "x"]]);
    assert.equal(ofTwo.get("ip")?.size, 3);
    assert.equal(answers.counters.answered, 2);
  });

  it("is empty if no minion matches or no minion has such data", async () => {
    assert.deepEqual(decode(await open([{}, {}]).answer(askFor(["ip"]))), new Map());
    assert.deepEqual(decode(await open(fleet).answer(askFor(["none"]))), new Map());
    assert.deepEqual(decode(await open(fleet).answer(askFor(["none"], true))), new Map());
  });

  it("names the limit instead of an answer that is over it", async () => {
    const answers = open([{ a: { ip: "x".repeat(2_000) } }]);
    assert.match(String(decode(await answers.answer(askFor(["ip"])))), /over 1000 bytes/);
    assert.equal(answers.counters.tooLarge, 1);
  });

  it("works on a few requests at once; the others take their turn", async () => {
    const sealing: (() => void)[] = [];
    const seal = (packed: Buffer) => new Promise<Uint8Array>((resolve) => sealing.push(() => resolve(packed)));
    const answers = open(fleet, 1_000, seal);
    const all = Array.from({ length: 10 }, () => answers.answer(askFor(["ip"])));
    assert.equal(answers.pending, 10);
    let done = 0;
    let mostAtOnce = 0;
    while (done < 10) {
      await new Promise((resolve) => setImmediate(resolve));
      mostAtOnce = Math.max(mostAtOnce, sealing.length);
      const finish = sealing.length === Math.min(4, 10 - done) ? sealing.shift() : undefined;
      if (finish === undefined) continue;
      finish();
      done += 1;
    }
    await Promise.all(all);
    assert.deepEqual([mostAtOnce, answers.pending], [4, 0]);
  });
});
