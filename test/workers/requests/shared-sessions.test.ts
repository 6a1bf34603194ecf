/** Sessions of a cluster: a minion that has one from one member uses it with another, which was never asked for it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import { sharedSessionTryBytesMax } from "../../../src/limits.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { derivedSessions } from "../../../src/workers/state/derived-sessions.ts";
import {
  acceptMinion,
  type Bench,
  nonce,
  openWorkerState,
  replyOf,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

const clusterSessionKey = randomBytes(32);
const hourMs = 3_600_000;

type Sealing = Awaited<ReturnType<typeof acceptMinion>>;

/** The reply, opened: undefined for a refusal in clear. */
async function ask(bench: Bench, crypticle: Sealing, load: Record<string, Encodable>): Promise<Encodable> {
  const result = await bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", load)), "web1"));
  const reply = decode(replyOf(result), "bytes");
  return reply instanceof Uint8Array && reply.byteLength > 32 ? decode(crypticle.open(reply, nonce)) : undefined;
}

/** Two members with the minion's key accepted. Only the first has given it a session. */
async function twoMembers(overrides = {}) {
  const [first, second] = [
    openWorkerState(overrides, { clusterSessionKey }),
    openWorkerState(overrides, { clusterSessionKey }),
  ];
  const crypticle = await acceptMinion(first, "web1");
  const pem = first.keys.read("accepted", "web1");
  assert.ok(pem !== undefined);
  second.keys.write("accepted", "web1", pem);
  second.worker.start.accepted.add("web1");
  return { first, second, crypticle };
}

describe("a session of a cluster", () => {
  it("opens requests on a member that did not give it, which answers under it", async () => {
    const { second, crypticle } = await twoMembers();
    assert.equal(second.worker.session("web1"), undefined);
    const result = await second.send(sealedFrame(crypticle.seal(sealedLoad("web1", { cmd: "_ext_nodes" })), "web1"));
    assert.deepEqual([...result.proven], [1]);
    assert.notEqual(await ask(second, crypticle, { cmd: "_ext_nodes" }), undefined);
    assert.equal(second.worker.counters.sessionsShared, 1);
  });

  it("is the same from each member", async () => {
    const { second, crypticle } = await twoMembers();
    const own = await acceptMinion(second, "web1");
    assert.notEqual(await ask(second, crypticle, { cmd: "_ext_nodes" }), undefined);
    assert.notEqual(await ask(second, own, { cmd: "_ext_nodes" }), undefined);
    assert.equal(second.worker.counters.sessionsShared, undefined);
  });

  it("is nothing to a master of its own, and to a cluster with another secret", async () => {
    const { crypticle } = await twoMembers();
    for (const start of [{}, { clusterSessionKey: randomBytes(32) }]) {
      const other = openWorkerState({}, start);
      await acceptMinion(other, "web1");
      assert.equal(await ask(other, crypticle, { cmd: "_ext_nodes" }), undefined);
    }
  });

  it("ends with the minion's key", async () => {
    const { second, crypticle } = await twoMembers();
    second.worker.start.accepted.delete("web1");
    await second.worker.forget("web1");
    assert.equal(await ask(second, crypticle, { cmd: "_ext_nodes" }), undefined);
  });

  it("is not tried with a large request, so that its minion authenticates again", async () => {
    const { second, crypticle } = await twoMembers();
    const load = { cmd: "_ext_nodes", more: "x".repeat(sharedSessionTryBytesMax) };
    assert.equal(await ask(second, crypticle, load), undefined);
    assert.equal(second.worker.counters.sessionsNotTried, 1);
    assert.notEqual(await ask(second, crypticle, { cmd: "_ext_nodes" }), undefined);
  });

  it("lasts for at most publish_session, and at least half of it, also where a clock goes ahead", () => {
    const minion = { id: "web1", minionKey: "ab:cd" };
    const at = (nowMs: number) => derivedSessions(clusterSessionKey, minion, hourMs, nowMs);
    const [given] = at(0.9 * hourMs);
    const isTaken = (nowMs: number) =>
      nowMs - given.createdMs <= hourMs && at(nowMs).some(({ keyString }) => keyString === given.keyString);
    assert.equal(given.createdMs, 0.5 * hourMs);
    assert.ok(isTaken(1.4 * hourMs), "of the epoch before");
    assert.ok(!isTaken(1.51 * hourMs), "older than publish_session");
    assert.ok(isTaken(0.4 * hourMs), "by a member whose clock is behind");
    const others = [
      { ...minion, id: "web2" },
      { ...minion, minionKey: "ab:ce" },
    ].map((other) => derivedSessions(clusterSessionKey, other, hourMs, 0.9 * hourMs)[0].keyString);
    assert.equal(new Set([given.keyString, ...others]).size, 3);
  });
});
