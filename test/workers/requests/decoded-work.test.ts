/** What workers decode of requests whose senders mean harm: nothing before proof, and little of a minion's. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { autosignGrainsMax, sentCollectionsMax, sentNumericKeysMax, sentValuesMax } from "../../../src/limits.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { itemKinds } from "../../../src/workers/batch/frames.ts";
import { countingKeys, numbered } from "../../wire/counting-keys.ts";
import {
  acceptMinion,
  clearFrame,
  minionPair,
  openWorkerState,
  replyOf,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

/** Keys of other uses of maps in a worker stay below this. */
const fewKeys = 50;

async function openAccepted() {
  const bench = openWorkerState();
  const crypticle = await acceptMinion(bench, "web1");
  const send = (load: Record<string, Encodable>) => {
    const sealed = crypticle.seal(sealedLoad("web1", load));
    return bench.send(sealedFrame(sealed, "web1"));
  };
  return { bench, send };
}

describe("a stranger's request", () => {
  it("for a token with a list or a map as its time is refused undecoded; other values are as before", async () => {
    const bench = openWorkerState();
    const ask = (token_expire: Encodable) =>
      bench.send(clearFrame({ cmd: "mk_token", eauth: "pam", username: "eve", password: "x", token_expire }));
    for (const collection of [numbered(5_000), [numbered(5_000)]]) {
      const { result, keys } = await countingKeys(() => ask(collection));
      assert.ok(keys < fewKeys, `${keys}`);
      assert.deepEqual(result.deferred, []);
      assert.equal(decode(replyOf(result)), "");
    }
    assert.equal(bench.worker.counters["refused.credential"], 2);
    const secondsOf = async (token_expire: Encodable) => {
      const [work] = (await ask(token_expire)).deferred;
      return work?.kind === "makeToken" ? work.expireSeconds : "refused";
    };
    assert.equal(await secondsOf(60), 60);
    assert.equal(await secondsOf("60"), undefined);
    assert.equal(await secondsOf(null), undefined);
  });

  it("to sign in has its grains read by name, and only where an operator signs by grains", async () => {
    const auth = (autosign_grains: Encodable, id: string) =>
      clearFrame({ cmd: "_auth", id, nonce: "n".repeat(32), pub: minionPair.publicPem, autosign_grains });
    const bench = openWorkerState();
    const frame = auth(numbered(2_000), "a");
    const plain = await countingKeys(() => bench.send(frame, itemKinds.auth));
    assert.ok(plain.keys < fewKeys, `${plain.keys}`);
    const grains = join(bench.config.pki_dir, "autosign_grains");
    mkdirSync(grains);
    writeFileSync(join(grains, "role"), "web\n", { mode: 0o644 });
    const signing = openWorkerState({ autosign_grains_dir: grains });
    // The first pattern of an operator's line fills tables with numeric keys.
    await signing.send(auth({ role: "db" }, "x"), itemKinds.auth);
    const more = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`g${at}`, numbered(8)]));
    const isSigned = async (sent: Encodable, id: string) => {
      const signingFrame = auth(sent, id);
      const { keys } = await countingKeys(() => signing.send(signingFrame, itemKinds.auth));
      assert.ok(keys < fewKeys, `${keys}`);
      return signing.keys.read("accepted", id) !== undefined;
    };
    assert.equal(await isSigned({ role: "web", ...more(autosignGrainsMax - 1) }, "b"), true);
    assert.equal(await isSigned({ role: "web", ...more(autosignGrainsMax) }, "c"), false);
    assert.equal(await isSigned({ role: numbered(2_000) }, "d"), false);
  });
});

describe("a minion's request", () => {
  it("has one budget for all its events, and loses those beyond it", async () => {
    const { bench, send } = await openAccepted();
    const events = Array.from({ length: 100 }, () => ({ tag: "t", data: { a: numbered(sentNumericKeysMax / 4) } }));
    const { result, keys } = await countingKeys(() => send({ cmd: "_minion_event", events }));
    assert.equal(result.eventCount, 4);
    assert.ok(keys <= sentNumericKeysMax + fewKeys, `${keys}`);
    assert.equal(bench.worker.counters["events.overRequest"], 96);
    assert.match(result.refusals[0]?.text ?? "", /: 96 here/);
    const maps = Array.from({ length: 3 }, () => ({
      tag: "t",
      data: { a: new Array(sentCollectionsMax / 2).fill({}) },
    }));
    assert.equal((await send({ cmd: "_minion_event", events: maps })).eventCount, 1);
    const values = Array.from({ length: 3 }, () => ({ tag: "t", data: { a: new Array(sentValuesMax / 2).fill(0) } }));
    assert.equal((await send({ cmd: "_minion_event", events: values })).eventCount, 1);
  });

  it("for mines has a bounded target and bounded names", async () => {
    const { bench, send } = await openAccepted();
    for (const load of [
      { tgt: numbered(5_000), fun: "f" },
      { tgt: "*", fun: numbered(5_000) },
      { tgt: numbered(sentNumericKeysMax / 2 + 1), fun: numbered(sentNumericKeysMax / 2 + 1) },
    ]) {
      const { result, keys } = await countingKeys(() => send({ cmd: "_mine_get", ...load }));
      assert.deepEqual(result.deferred, []);
      assert.ok(keys <= sentNumericKeysMax + fewKeys, `${keys}`);
    }
    assert.equal(bench.worker.counters["refused.malformed"], 3);
    const names = Array.from({ length: 100_000 }, (_, at) => `minion-${at}`);
    assert.equal((await send({ cmd: "_mine_get", tgt: names, tgt_type: "list", fun: "f" })).deferred.length, 1);
  });

  it("to keep a mine, or a job that it started itself, is kept packed", async () => {
    const { bench, send } = await openAccepted();
    const value = numbered(5_000);
    const mine = await countingKeys(() => send({ cmd: "_mine", data: { f: value, g: 1 } }));
    await send({ cmd: "_mine", data: { g: 2 } });
    const job = await countingKeys(() =>
      send({ cmd: "_return", jid: "req", fun: "f", fun_args: [1], return: value, retcode: value, success: true }),
    );
    for (const { keys } of [mine, job]) assert.ok(keys < fewKeys, `${keys}`);
    assert.deepEqual(
      decode(bench.memory.minions.get("web1")?.mine ?? new Uint8Array()),
      new Map<string, unknown>([
        ["f", value],
        ["g", 2],
      ]),
    );
    const [kept] = bench.memory.loads.values();
    const fields = decode(kept?.load ?? new Uint8Array()) as Map<string, unknown>;
    assert.deepEqual(fields.get("return"), value);
    assert.deepEqual(fields.get("arg"), [1]);
    assert.deepEqual([fields.get("tgt"), fields.get("tgt_type")], ["web1", "glob"]);
  });
});
