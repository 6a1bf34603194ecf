import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Crypticle, generateKeyString } from "../../../src/crypto/crypticle.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { BatchResult } from "../../../src/workers/messages/batch.ts";
import {
  acceptMinion,
  clearFrame,
  nonce,
  openWorkerState,
  replyOf,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

function unpacked(bytes: Uint8Array): Encodable {
  return decode(bytes);
}

/** The value of a sealed reply. */
function opened(result: BatchResult, crypticle: Crypticle, expectedNonce: string | null = nonce): Encodable {
  const sealed = decode(replyOf(result), "bytes");
  assert.ok(sealed instanceof Uint8Array);
  return unpacked(crypticle.open(sealed, expectedNonce ?? undefined));
}

describe("a sealed request", () => {
  it("is answered under the session key with its nonce", async () => {
    const bench = openWorkerState();
    const crypticle = await acceptMinion(bench, "web1");
    const result = await bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", { cmd: "_ext_nodes" })), "web1"));
    assert.deepEqual(opened(result, crypticle), new Map());
    assert.deepEqual([...result.proven], [1]);
  });

  it("is refused as bad load for each of the ways in which it can be wrong, and counted", async () => {
    const bench = openWorkerState({ request_server_ttl: 60 });
    const crypticle = await acceptMinion(bench, "web1");
    const otherToken = Buffer.alloc(256, 7);
    const load = { cmd: "_ext_nodes" };
    const old = Math.floor(Date.now() / 1_000) - 61;
    const cases: [string, Buffer][] = [
      ["invalidId", sealedFrame(crypticle.seal(sealedLoad("../web1", load)), "../web1")],
      ["noSession", sealedFrame(crypticle.seal(sealedLoad("nobody", load)), "nobody")],
      ["badSeal", sealedFrame(new Crypticle(generateKeyString()).seal(sealedLoad("web1", load)), "web1")],
      ["expired", sealedFrame(crypticle.seal(sealedLoad("web1", load, { ts: old })), "web1")],
      ["expired", sealedFrame(crypticle.seal(sealedLoad("web1", load, { ts: undefined })), "web1")],
      ["idMismatch", sealedFrame(crypticle.seal(sealedLoad("web1", load, { id: "web2" })), "web1")],
      ["badToken", sealedFrame(crypticle.seal(sealedLoad("web1", load, { tok: otherToken })), "web1")],
      ["badToken", sealedFrame(crypticle.seal(sealedLoad("web1", load, { tok: undefined })), "web1")],
      ["version", encodeSealedRequest(crypticle.seal(sealedLoad("web1", load)), { version: 2 })],
      ["version", encodeSealedRequest(crypticle.seal(sealedLoad("web1", load)), { version: 9, id: "web1" })],
    ];
    for (const [reason, frame] of cases) {
      const before = bench.worker.counters[`refused.${reason}`] ?? 0;
      const result = await bench.send(frame);
      assert.equal(unpacked(replyOf(result)), "bad load", reason);
      assert.equal(bench.worker.counters[`refused.${reason}`], before + 1, reason);
      assert.deepEqual([[...result.proven], result.contacts], [[0], []]);
    }
  });

  it("is refused once its minion's key is gone", async () => {
    const bench = openWorkerState();
    const crypticle = await acceptMinion(bench, "web1");
    const frame = sealedFrame(crypticle.seal(sealedLoad("web1", { cmd: "_ext_nodes" })), "web1");
    assert.deepEqual(opened(await bench.send(frame), crypticle), new Map());
    bench.worker.start.accepted.delete("web1");
    await bench.worker.forget("web1");
    assert.equal(unpacked(replyOf(await bench.send(frame))), "bad load");
  });

  it("compares a token that it has verified, instead of verifying it again", async () => {
    const bench = openWorkerState();
    const crypticle = await acceptMinion(bench, "web1");
    for (let turn = 0; turn < 3; turn += 1) {
      await bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", { cmd: "_ext_nodes" })), "web1"));
    }
    assert.equal(bench.worker.counters.tokensVerified, 1);
  });

  it("under the master's key is answered under the same one, also the former one within its grace", async () => {
    const bench = openWorkerState({ minimum_auth_version: 0 });
    await acceptMinion(bench, "old1");
    const former = new Crypticle(bench.worker.masterKeys.aes);
    const frame = encodeSealedRequest(former.seal(encode({ cmd: "_ext_nodes", id: "old1", nonce }, "raw")), {
      version: 2,
    });
    assert.deepEqual(opened(await bench.send(frame), former), new Map());
    const rotated = { ...bench.worker.masterKeys, aes: generateKeyString() };
    bench.worker.useMasterKeys({
      ...rotated,
      former: { key: bench.worker.masterKeys.aes, untilMs: Date.now() + 60_000 },
    });
    assert.deepEqual(opened(await bench.send(frame), former), new Map());
    bench.worker.useMasterKeys({
      ...rotated,
      former: { key: bench.worker.masterKeys.former?.key ?? "", untilMs: Date.now() - 1 },
    });
    assert.equal(unpacked(replyOf(await bench.send(frame))), "bad load");
  });

  it("under the former key is answered however the clock is set within its grace, and however short the grace is now", async (t) => {
    const bench = openWorkerState({ minimum_auth_version: 0 });
    await acceptMinion(bench, "old1");
    const key = bench.worker.masterKeys.aes;
    const former = new Crypticle(key);
    const frame = encodeSealedRequest(former.seal(encode({ cmd: "_ext_nodes", id: "old1", nonce }, "raw")), {
      version: 2,
    });
    const graceMs = bench.config.rotation_grace * 1_000;
    const rotate = (untilMs: number) =>
      bench.worker.useMasterKeys({
        ...bench.worker.masterKeys,
        aes: generateKeyString(),
        former: { key, untilMs },
      });
    rotate(Date.now() + 2 * graceMs);
    assert.deepEqual(opened(await bench.send(frame), former), new Map());
    rotate(Date.now() + graceMs);
    const setBackMs = Date.now() - 30_000;
    t.mock.method(Date, "now", () => setBackMs);
    assert.deepEqual(opened(await bench.send(frame), former), new Map());
  });

  it("under the master's key is refused from a minion that is not accepted", async () => {
    const bench = openWorkerState({ minimum_auth_version: 0 });
    const frame = encodeSealedRequest(bench.worker.current.seal(encode({ cmd: "_ext_nodes", id: "gone" }, "raw")), {
      version: 0,
    });
    assert.equal(unpacked(replyOf(await bench.send(frame))), "bad load");
  });

  it("of version 0 is answered without a nonce", async () => {
    const bench = openWorkerState({ minimum_auth_version: 0 });
    await acceptMinion(bench, "old0");
    const frame = encodeSealedRequest(bench.worker.current.seal(encode({ cmd: "_ext_nodes", id: "old0" }, "raw")), {
      version: 0,
    });
    assert.deepEqual(opened(await bench.send(frame), bench.worker.current, null), new Map());
  });
});

describe("a frame that is not a request", () => {
  it("is answered in Salt's words", async () => {
    const bench = openWorkerState();
    const reply = async (frame: Uint8Array) => unpacked(replyOf(await bench.send(frame)));
    assert.deepEqual(await reply(Buffer.from([0xc1, 0xff])), new Map([["msg", "bad load"]]));
    assert.equal(
      await reply(encode({ version: 3, enc: "clear", load: "notadict" }, "raw")),
      "payload and load must be a dict",
    );
    assert.equal(await reply(clearFrame({ cmd: "ping", id: "a\0b" })), "bad load: id contains a null byte");
    assert.deepEqual(await reply(clearFrame({ cmd: "nosuch" })), new Map());
    assert.deepEqual(
      await reply(clearFrame({ cmd: "ping", x: 1 })),
      new Map<string, unknown>([
        ["cmd", "ping"],
        ["x", 1],
      ]),
    );
  });
});
