import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { peerArgumentBytesMax, peerNameLengthMax, peerWaitMsMax } from "../../../src/limits.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../../src/wire/request.ts";
import { type Encodable, Float } from "../../../src/wire/values.ts";
import type { PeerAsk, PeerPublish } from "../../../src/workers/messages/deferred.ts";
import {
  acceptMinion,
  type Bench,
  minionToken,
  nonce,
  openWorkerState,
  replyOf,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

const everything: Overrides = { peer: { ".*": [".*"] }, peer_run: { ".*": [".*"] } };
const publish = { cmd: "minion_pub", fun: "test.ping", arg: [], tgt: "*", tgt_type: "glob", ret: "", tmo: 5 };

function open(overrides: Overrides = everything): Bench {
  return openWorkerState(overrides);
}

/** The outcome of web1's request: work for the main thread, or (undefined) an empty answer. */
async function asked(load: Record<string, Encodable>, overrides = everything): Promise<PeerAsk | undefined> {
  const bench = open(overrides);
  const crypticle = await acceptMinion(bench, "web1");
  const result = await bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", load)), "web1"));
  assert.deepEqual(bench.faults, []);
  const [work] = result.deferred;
  if (work?.kind === "peer") return work.ask;
  const sealed = decode(replyOf(result), "bytes") as Uint8Array;
  assert.deepEqual(decode(crypticle.open(sealed, nonce)), new Map());
  return undefined;
}

async function published(changes: Record<string, Encodable>): Promise<PeerPublish | undefined> {
  const ask = await asked({ ...publish, ...changes });
  return ask?.command === "publish" ? ask : undefined;
}

const argOf = async (arg: Encodable, more: Record<string, Encodable> = {}) => {
  const ask = await published({ arg, ...more });
  return decode(ask?.arg ?? Buffer.alloc(0));
};

describe("requests of minions to publish", () => {
  it("go to the main thread with who asks and how the answer is sealed", async () => {
    const ask = await published({ tgt: "role:web", tgt_type: "grain", arg: ["x"] });
    const { sent, arg, target, ...others } = ask ?? assert.fail("no work");
    assert.deepEqual([decode(sent), decode(arg), decode(target)], [["x"], ["x"], "role:web"]);
    assert.deepEqual(others, {
      id: "web1",
      seal: { key: "session", nonce },
      command: "publish",
      fun: "test.ping",
      targetKind: "grain",
      ret: "",
      wait: undefined,
    });
  });

  it("have their texts read as YAML and their keywords put into one map, as sent by Salt's minions", async () => {
    assert.deepEqual(await argOf(["1", "two", "3.0", "[a, b]", "1,two,k=3"]), [
      1,
      "two",
      new Float(3),
      ["a", "b"],
      "1,two,k=3",
    ]);
    assert.deepEqual(
      await argOf([
        "x",
        "k=5",
        new Map<string, Encodable>([
          ["__kwarg__", true],
          ["m", null],
        ]),
      ]),
      [
        "x",
        new Map<string, Encodable>([
          ["__kwarg__", true],
          ["k", 5],
          ["m", null],
        ]),
      ],
    );
    assert.deepEqual(await argOf(["k=5"], { no_parse: ["k"] }), [
      new Map<string, Encodable>([
        ["__kwarg__", true],
        ["k", "5"],
      ]),
    ]);
    assert.deepEqual(await argOf(["20261120155555511892"]), ["20261120155555511892"]);
  });

  it("that wait say for how long and in which form", async () => {
    const waits = async (changes: Record<string, Encodable>) =>
      (await published({ cmd: "minion_publish", ...changes }))?.wait;
    assert.deepEqual(await waits({}), { timeoutMs: 5_000, isFull: false });
    assert.deepEqual(await waits({ tmo: "7", form: "full" }), { timeoutMs: 7_000, isFull: true });
    assert.deepEqual(await waits({ tmo: 7, timeout: 2 }), { timeoutMs: 2_000, isFull: false });
    assert.deepEqual(await waits({ tmo: 1e12 }), { timeoutMs: peerWaitMsMax, isFull: false });
    assert.deepEqual(await waits({ tmo: -3 }), { timeoutMs: 0, isFull: false });
    for (const tmo of ["soon", [], null, "9".repeat(400)]) assert.equal(await waits({ tmo }), undefined);
  });

  it("are for nothing where a field is missing, of the wrong kind or too large", async () => {
    const long = "x".repeat(peerNameLengthMax + 1);
    for (const changes of [
      ...["fun", "arg", "tgt", "ret"].map((field) => ({ [field]: undefined })),
      { fun: 7 },
      { fun: ["test.ping"] },
      { fun: "test.ping,cmd.run", arg: [[], ["id"]] },
      { fun: long },
      { arg: "id" },
      { arg: new Map() },
      { arg: ["x".repeat(peerArgumentBytesMax)] },
      { tgt: 7 },
      { tgt: ["a", 7] },
      { tgt_type: 7 },
      { tgt_type: long },
      { ret: 7 },
      { ret: long },
    ]) {
      assert.equal(await published(changes), undefined, JSON.stringify(changes).slice(0, 60));
    }
  });

  it("and for runners are answered at once where no minion may", async () => {
    assert.equal(await asked(publish, { peer_run: { ".*": [".*"] } }), undefined);
    assert.equal(
      await asked({ cmd: "minion_runner", fun: "test.arg", arg: [] }, { peer: { ".*": [".*"] } }),
      undefined,
    );
    const ask = await asked({ cmd: "minion_runner", fun: "test.arg", arg: ["1"] });
    assert.ok(ask?.command === "run");
    assert.deepEqual([ask.id, ask.fun, decode(ask.arg)], ["web1", "test.arg", [1]]);
  });

  it("and for returns name a job", async () => {
    const jid = "20261120155555511892";
    const ask = await asked({ cmd: "pub_ret", jid });
    assert.deepEqual(ask, { id: "web1", seal: { key: "session", nonce }, command: "returns", jid });
    for (const wrong of ["", "../etc/passwd", `${jid}/..`, 20, undefined])
      assert.equal(await asked({ cmd: "pub_ret", jid: wrong }), undefined);
  });
});

describe("a minion that asks for others", () => {
  it("has to prove itself: another's token, or another's id, is refused", async () => {
    const bench = open();
    const crypticle = await acceptMinion(bench, "web1");
    await acceptMinion(bench, "db1");
    const foreign = Buffer.from(minionToken).reverse();
    for (const changes of [{ tok: foreign }, { tok: undefined }, { id: "db1" }]) {
      const frame = sealedFrame(crypticle.seal(sealedLoad("web1", publish, changes)), "web1");
      assert.deepEqual((await bench.send(frame)).deferred, [], JSON.stringify(Object.keys(changes)));
    }
  });

  it("of an older version has to prove itself, too: the seal is one that all minions have", async () => {
    const bench = open({ ...everything, minimum_auth_version: 0 });
    await acceptMinion(bench, "web1");
    const send = async (version: 0 | 2, changes: Record<string, Encodable>) => {
      const load = { ...publish, id: "web1", ...(version === 2 ? { nonce } : {}), ...changes };
      const sealed = bench.worker.current.seal(encode(load, "raw"));
      return await bench.send(encodeSealedRequest(sealed, { version }));
    };
    for (const version of [0, 2] as const) {
      const result = await send(version, {});
      assert.deepEqual(result.deferred, []);
      const answer = bench.worker.current.open(
        decode(replyOf(result), "bytes") as Uint8Array,
        version === 2 ? nonce : undefined,
      );
      assert.deepEqual(decode(answer), new Map());
      assert.deepEqual((await send(version, { tok: Buffer.alloc(256) })).deferred, []);
      const [work] = (await send(version, { tok: minionToken })).deferred;
      assert.ok(work?.kind === "peer");
      assert.deepEqual([work.ask.id, work.ask.seal], ["web1", { key: "current", nonce: version === 2 ? nonce : "" }]);
    }
    assert.equal(bench.worker.counters["peers.unproven"], 2);
  });
});
