import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { auditTextLengthMax, clearFrameBytesMax, credentialLoadBytesMax, loadMembersMax } from "../../../src/limits.ts";
import { tokenDirectory } from "../../../src/store/secrets/tokens.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { itemKinds } from "../../../src/workers/batch/frames.ts";
import {
  acceptMinion,
  clearFrame,
  nonce,
  openWorkerState,
  replyOf,
  sealedFrame,
  sealedLoad,
} from "../open-worker-state.ts";

const large = "x".repeat(clearFrameBytesMax);
const targets = Array.from({ length: 10_000 }, (_, at) => `minion-with-a-long-name-${at}.example.org`);

describe("a clear request", () => {
  it("is small unless it has a credential", async () => {
    const bench = openWorkerState();
    assert.deepEqual(
      decode(replyOf(await bench.send(clearFrame({ cmd: "ping", a: "b" })))),
      new Map([
        ["cmd", "ping"],
        ["a", "b"],
      ]),
    );
    for (const cmd of ["ping", "mk_token", "get_token", "anything"])
      assert.equal(decode(replyOf(await bench.send(clearFrame({ cmd, large })))), "bad load", cmd);
    assert.equal(bench.worker.counters["refused.clearTooLarge"], 4);
  });

  it("may be large with the right key, and is refused unread with a wrong one", async () => {
    const bench = openWorkerState();
    const publish = { cmd: "publish", fun: "test.ping", tgt: targets, tgt_type: "list", user: "root", kwargs: {} };
    const [granted] = (await bench.send(clearFrame({ ...publish, key: "local-secret" }))).deferred;
    assert.equal(granted?.kind, "publish");
    const refused = await bench.send(clearFrame({ ...publish, key: "wrong" }));
    assert.deepEqual(refused.deferred, []);
    assert.equal(bench.worker.counters["refused.credential"], 1);
    assert.deepEqual(refused.wrongKeys, []);
  });

  it("with a wrong key is told for audit_log: who it claims to be, and its function", async () => {
    const bench = openWorkerState({ audit_log: "/dev/null" });
    const wrong = (fields: { readonly [name: string]: Encodable }) =>
      bench.send(clearFrame({ tgt: "*", tgt_type: "glob", arg: ["secret"], kwargs: {}, key: "wrong", ...fields }));
    const told = [
      await wrong({ cmd: "publish", fun: "cmd.run", user: "root" }),
      await wrong({ cmd: "wheel", fun: "x".repeat(10_000) }),
      await wrong({ cmd: "wheel", fun: "key.accept", token: "0" }),
    ].map(({ wrongKeys }) => wrongKeys);
    assert.deepEqual(told, [
      [{ item: 0, command: "publish", user: "root", fun: "cmd.run" }],
      [{ item: 0, command: "wheel", user: "root", fun: "x".repeat(auditTextLengthMax) }],
      [],
    ]);
  });

  it("is held for a token only if there is such a token, and for a password only up to a bound", async () => {
    const bench = openWorkerState();
    const token = "a".repeat(64);
    const ask = (bytes: number, kwargs: Encodable) =>
      bench.send(clearFrame({ cmd: "publish", fun: "test.ping", tgt: "x".repeat(bytes), kwargs, key: "" }));
    assert.deepEqual((await ask(clearFrameBytesMax, { token })).deferred, []);
    assert.equal((await ask(10, { token })).deferred.length, 1);
    mkdirSync(tokenDirectory(bench.config.cachedir), { recursive: true });
    writeFileSync(join(tokenDirectory(bench.config.cachedir), token), "");
    assert.equal((await ask(clearFrameBytesMax, { token })).deferred.length, 1);
    const login = { eauth: "pam", username: "eve", password: "x" };
    assert.equal((await ask(200_000, login)).deferred.length, 1);
    assert.deepEqual((await ask(credentialLoadBytesMax, login)).deferred, []);
  });

  it("with 60,000 members costs no more than a look at their number", async () => {
    const bench = openWorkerState();
    const members = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`member${at}`, 0]));
    const frame = clearFrame({ ...members, cmd: "publish", key: "local-secret" });
    for (let round = 0; round < 3; round += 1) await bench.send(frame);
    const cpuMs = async (run: () => unknown) => {
      const before = process.cpuUsage();
      await run();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    };
    const listingMs = await cpuMs(() => decode(frame));
    const refusingMs = await cpuMs(async () => {
      for (let round = 0; round < 10; round += 1)
        assert.equal(decode(replyOf(await bench.send(frame))), "payload and load must be a dict");
    });
    assert.ok(refusingMs < 4 * listingMs, `ten refusals ${refusingMs} ms, one listing ${listingMs} ms`);
  });

  it("is refused unless it comes from the queue of authentications", async () => {
    const bench = openWorkerState();
    const result = await bench.send(clearFrame({ cmd: "_auth", id: "web1", pub: "x" }), itemKinds.ordinary);
    assert.deepEqual(
      decode(replyOf(result)),
      new Map<string, Encodable>([
        ["enc", "clear"],
        ["load", new Map([["ret", false]])],
      ]),
    );
    assert.equal(bench.worker.counters["refused.authTooLarge"], 1);
  });
});

describe("a sealed request", () => {
  it("has no more members than any of Salt's", async () => {
    const bench = openWorkerState();
    const crypticle = await acceptMinion(bench, "web1");
    const send = (count: number) => {
      const members = Object.fromEntries(Array.from({ length: count }, (_, at) => [`member${at}`, 0]));
      return bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", { cmd: "_mine", ...members })), "web1"));
    };
    await send(loadMembersMax - 5);
    assert.equal(bench.worker.counters["refused.notMap"], undefined);
    await send(loadMembersMax);
    assert.equal(bench.worker.counters["refused.notMap"], 1);
  });
});

describe("algorithms that a request names", () => {
  it("are those of a table, and nothing that every object has", async () => {
    const bench = openWorkerState();
    const crypticle = await acceptMinion(bench, "web1");
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      for (const field of ["enc_algo", "sig_algo"]) {
        const auth = { cmd: "_auth", id: "web2", nonce: "n", pub: "PEM", enc_algo: "OAEP-SHA1", [field]: name };
        const load = (decode(replyOf(await bench.send(clearFrame(auth)))) as Map<string, Map<string, Encodable>>).get(
          "load",
        );
        assert.equal(load?.get("ret"), `bad ${field.replace("_", " ")}`, `${field} ${name}`);
      }
      const sealed = crypticle.seal(sealedLoad("web1", { cmd: "_pillar", grains: {} }));
      for (const changes of [{ encAlgorithm: name }, { sigAlgorithm: name }]) {
        const result = await bench.send(sealedFrame(sealed, "web1", changes));
        assert.equal(decode(replyOf(result)), "Some exception handling minion payload");
        assert.deepEqual(result.deferred, []);
      }
      // As a command it does not exist.
      const unknown = await bench.send(sealedFrame(crypticle.seal(sealedLoad("web1", { cmd: name })), "web1"));
      const sealedReply = decode(replyOf(unknown), "bytes") as Uint8Array;
      assert.deepEqual(decode(crypticle.open(sealedReply, nonce)), new Map());
    }
    assert.equal(bench.worker.counters["refused.fault"], undefined);
    assert.deepEqual(bench.faults, []);
  });
});
