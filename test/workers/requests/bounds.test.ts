import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { keyRecountMs } from "../../../src/limits.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Encodable, Value } from "../../../src/wire/values.ts";
import { createKeyCounts, pendingCount, UnprovenKeys } from "../../../src/workers/state/unproven-keys.ts";
import {
  acceptMinion,
  clearFrame,
  nonce,
  openWorkerState,
  replyOf,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

describe("a minion's mine", () => {
  async function open(options: Overrides) {
    const bench = openWorkerState(options);
    const crypticle = await acceptMinion(bench, "web1");
    const ask = async (load: Record<string, Encodable>): Promise<Value> => {
      const result = await bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", load)), "web1"));
      const reply = decode(replyOf(result), "bytes");
      assert.ok(reply instanceof Uint8Array);
      return decode(crypticle.open(reply, nonce));
    };
    return { bench, ask };
  }

  it("is bounded in bytes and in functions, and stays as it was beyond them", async () => {
    const { bench, ask } = await open({ mine_max_bytes: 2_000, mine_max_functions: 3 });
    assert.equal(await ask({ cmd: "_mine", data: { a: "x".repeat(900) } }), true);
    const before = bench.memory.minions.get("web1")?.mine;
    assert.equal(await ask({ cmd: "_mine", data: { b: "x".repeat(1_500) } }), false);
    assert.equal(await ask({ cmd: "_mine", data: { b: "x".repeat(5_000) } }), false);
    assert.equal(await ask({ cmd: "_mine", data: { b: 1, c: 2, d: 3 } }), false);
    assert.deepEqual(bench.memory.minions.get("web1")?.mine, before);
    assert.equal(bench.worker.counters["mine.tooLarge"], 3);
    assert.equal(await ask({ cmd: "_mine", clear: true, data: { b: "x".repeat(1_500) } }), true);
    assert.equal(await ask({ cmd: "_mine", data: { c: 2, d: 3 } }), true);
  });
});

describe("a minion's grains", () => {
  it("are bounded: beyond grains_max_bytes its pillar says so, and nothing of it is kept or rendered", async () => {
    const bench = openWorkerState({ grains_max_bytes: 16_384 });
    const crypticle = await acceptMinion(bench, "web1");
    const ask = async (load: Record<string, Encodable>) => {
      const whole = sealedLoad("web1", { cmd: "_pillar", saltenv: "base", pillarenv: "base", ver: "2", ...load });
      const frame = sealedFrame(crypticle.seal(whole), "web1");
      const result = await bench.send(frame);
      return { deferred: result.deferred.at(-1), refusals: result.refusals };
    };
    const kept = await ask({ grains: { os: "x".repeat(10_000) } });
    assert.equal(kept.deferred?.kind, "pillar");
    for (const load of [
      { grains: { os: "x".repeat(20_000) } },
      { grains: { os: "x".repeat(10_000) }, extra_minion_data: { more: "x".repeat(10_000) } },
    ]) {
      const { deferred, refusals } = await ask(load);
      assert.ok(deferred?.kind === "rsa" && deferred.task.kind === "pillarReply");
      const pillar = decode(deferred.task.pillar) as Map<string, string[]>;
      assert.match(pillar.get("_errors")?.[0] ?? "", /exceed grains_max_bytes \(16384\) of the master/);
      assert.deepEqual(
        refusals.map(({ id }) => id),
        ["web1"],
      );
      assert.match(refusals[0]?.text ?? "", /grains_max_bytes/);
    }
    assert.equal(bench.worker.counters["grains.tooLarge"], 2);
  });
});

describe("keys of strangers", () => {
  const pem = () =>
    generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey.export({ type: "spki", format: "pem" }).toString();

  it("are kept up to pending_keys_max: others wait, and are kept once there is room", async () => {
    const bench = openWorkerState({ pending_keys_max: 2 });
    const pub = pem();
    const ask = async (id: string) => {
      const result = await bench.send(clearFrame({ cmd: "_auth", id, nonce, pub, enc_algo: "OAEP-SHA1" }));
      assert.ok(result.auths !== undefined, "it is answered");
      return result;
    };
    for (const id of ["a", "b"]) assert.deepEqual((await ask(id)).refusals, []);
    const refused = await ask("c");
    assert.match(refused.refusals[0]?.text ?? "", /pending_keys_max/);
    assert.deepEqual(bench.keys.list("pending"), ["a", "b"]);
    assert.deepEqual([bench.worker.counters["auth.pend"], bench.worker.counters["auth.noRoom"]], [2, 1]);
    await ask("a");
    assert.equal(bench.worker.counters["auth.pend"], 3, "one that is kept goes on waiting");
  });

  it("are counted by all workers together, and anew at the bound", () => {
    const memory = createKeyCounts();
    const listed = { pending: ["x"], rejected: [] as string[] };
    const keys = { list: (state: string) => (state === "pending" ? listed.pending : listed.rejected) };
    const [one, other] = [new UnprovenKeys(memory, keys, 3), new UnprovenKeys(memory, keys, 3)];
    assert.equal(pendingCount(memory), 0);
    assert.ok(one.take("pending", 0) && other.take("pending", 0));
    assert.equal(pendingCount(memory), 3);
    listed.pending = ["x", "y", "z"];
    assert.equal(one.take("pending", 10), false);
    assert.equal(other.take("pending", keyRecountMs), false);
    assert.equal(one.take("rejected", 10), true, "each state has its own");
    listed.pending = ["x"];
    assert.equal(one.take("pending", 20), false, "not looked at for each of a flood");
    assert.ok(one.take("pending", 10 + keyRecountMs));
  });
});
