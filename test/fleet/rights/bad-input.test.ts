/**
 * Bad input at each port of a master: answered at once as Salt answers it or better, counted, and without harm to other clients.
 * Source of the answers: docs/protocol.md sections 2.2 and 3.2.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Request } from "zeromq";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { Crypticle, generateKeyString } from "../../../src/crypto/crypticle.ts";
import { greetingTimeoutMs } from "../../../src/limits.ts";
import { EventSubscriber, fireEvents } from "../../../src/transport/event-stream-client.ts";
import { encodeEvent, splitEvent } from "../../../src/wire/event.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { badLoad, decodeAuthReply } from "../../../src/wire/reply.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { readCounters, startOurMaster, sumOf } from "../our-master.ts";
import { ProbeMinion } from "../probe-minion.ts";

/** An answer comes at once; the rest of the timeout is for a busy machine. */
const answerTimeoutMs = 30_000;
const requestBytesMax = 1024 * 1024;
const serverTtlSeconds = 60;
/** Shorter than the master's patience with a silent connection, which would close it for another reason. */
const doorTimeoutMs = greetingTimeoutMs - 1_000;
const refusals = /(^|\.)(refused|malformed|auth\.refused)/;

type Answer = (reply: Buffer) => void;

const isBadLoad: Answer = (reply) => assert.deepEqual(reply, badLoad);
const isRefusal: Answer = (reply) => assert.equal(decodeAuthReply(reply).ret, false);
const isText =
  (text: string): Answer =>
  (reply) =>
    assert.equal(decode(reply), text);
/** Salt's answer to a frame that does not unpack, or that is not a map. */
const isUnreadable: Answer = (reply) => {
  const value = decode(reply);
  assert.equal(value instanceof Map ? value.get("msg") : value, "bad load");
};
const isAlgorithmRefusal =
  (kind: "enc" | "sig"): Answer =>
  (reply) =>
    assert.equal(decodeAuthReply(reply).ret, `bad ${kind} algo`);
const isCredentialError: Answer = (reply) => {
  const error = (decode(reply) as ValueMap).get("error") as ValueMap | undefined;
  assert.match(String(error?.get("name")), /^(User)?AuthenticationError$/);
};

describe("bad input", () => {
  let master: MasterProcess;
  let client: LocalClient;
  let good: ProbeMinion;
  let other: ProbeMinion;
  let keyFilesBefore: string[];
  let jids = 0;

  before(async () => {
    const config = { auto_accept: true, request_server_ttl: serverTtlSeconds, request_max_bytes: requestBytesMax };
    master = await startOurMaster(2, config);
    client = master.client();
    const primes = await loadPrimes(defaultKeyDirectory(), 2);
    good = await ProbeMinion.open("good", minionKey(primes, 0), master.requestPort);
    other = await ProbeMinion.open("other", minionKey(primes, 1), master.requestPort);
    await goodWorks();
    keyFilesBefore = keyFiles();
  });
  after(async () => {
    good?.close();
    other?.close();
    client?.close();
    await master?.remove();
  });

  function keyFiles(): string[] {
    return readdirSync(master.pkiDirectory, { recursive: true, encoding: "utf8" }).sort();
  }

  /** The honest minion's connection still works, and its returns are acknowledged. */
  async function goodWorks(): Promise<void> {
    jids += 1;
    assert.equal(await good.return(`20260102030405${String(jids).padStart(6, "0")}`), null);
  }

  /** Sends one frame from a separate client, checks the answer and the counter, and checks that the honest minion is served. */
  async function isAnswered(frame: Uint8Array, answer: Answer): Promise<void> {
    const counted = sumOf(await readCounters(client), refusals);
    const socket = new Request({ linger: 0, receiveTimeout: answerTimeoutMs });
    try {
      socket.connect(`tcp://127.0.0.1:${master.requestPort}`);
      await socket.send(frame);
      const [reply] = await socket.receive();
      assert.ok(reply !== undefined);
      answer(reply);
    } finally {
      socket.close();
    }
    assert.ok(sumOf(await readCounters(client), refusals) > counted, "it is counted");
    await goodWorks();
  }

  function authFrame(changes: { readonly [key: string]: Encodable }, version = 3): Buffer {
    const load = { cmd: "_auth", id: "newcomer", nonce: "0".repeat(32), pub: other.key.publicPem, ...changes };
    return encodeClearRequest(load, version);
  }

  function publicPem(bits: number): string {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: bits });
    return publicKey.export({ type: "spki", format: "pem" }).toString();
  }

  const aReturn = () => good.returnLoad("20260102030405999999");

  describe("as frames", () => {
    const garbage: [string, () => Uint8Array][] = [
      ["no bytes", () => Buffer.alloc(0)],
      ["random bytes", () => randomBytes(300)],
      ["a map that ends in the middle", () => Buffer.from([0x82, 0xa3, 0x65, 0x6e, 0x63])],
      ["a text", () => encode("hello", "raw")],
      ["a map without load", () => encode({ enc: "aes" }, "raw")],
      ["a map with another enc", () => encode({ enc: "rot13", load: "x", version: 3 }, "raw")],
      ["lists nested 100,000 deep", () => Buffer.alloc(100_000, 0x91)],
      ["a length of 4 GiB", () => Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff, 1])],
      ["a map of 4 billion entries", () => Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff, 1, 1])],
    ];
    for (const [name, frame] of garbage) {
      it(`${name}: bad load`, () => isAnswered(frame(), isUnreadable));
    }
    it("a clear load that is not a map", () =>
      isAnswered(encode({ enc: "clear", load: 7, version: 3 }, "raw"), isText("payload and load must be a dict")));
  });

  describe("as sealed requests", () => {
    it("a wrong MAC", () => {
      const { frame } = good.seal(aReturn());
      const index = frame.indexOf("load") + 40;
      frame[index] = (frame[index] ?? 0) ^ 1;
      return isAnswered(frame, isBadLoad);
    });
    it("a seal under an unknown key", () => {
      const sealed = new Crypticle(generateKeyString()).seal(encode(aReturn(), "raw"));
      return isAnswered(encodeSealedRequest(sealed, { version: 3, id: "good" }), isBadLoad);
    });
    it("the master's own key, which is for publishes only", () => {
      const load = { ...aReturn(), id: "good", tok: good.token, nonce: "0".repeat(32) };
      const sealed = good.keys.aes.crypticle.seal(encode(load, "raw"));
      return isAnswered(encodeSealedRequest(sealed, { version: 3, id: "good" }), isBadLoad);
    });
    it("another minion's token", () => isAnswered(good.seal(aReturn(), { tok: other.token }).frame, isBadLoad));
    it("no token", () => isAnswered(good.seal(aReturn(), { tok: undefined }).frame, isBadLoad));
    it("another minion's id inside", () => isAnswered(good.seal(aReturn(), { id: "other" }).frame, isBadLoad));
    it("another minion's id outside", () => isAnswered(good.seal(aReturn(), {}, "other").frame, isBadLoad));
    it("an id that climbs out of its directory", () =>
      isAnswered(good.seal(aReturn(), {}, "../minions/good").frame, isBadLoad));
    it("an id of 10 KB", () => isAnswered(good.seal(aReturn(), {}, "x".repeat(10_240)).frame, isBadLoad));
    it("a NUL in the id outside", () => isAnswered(good.seal(aReturn(), {}, "good\0").frame, isBadLoad));
    it("a NUL in the id inside is named", () =>
      isAnswered(good.seal(aReturn(), { id: "good\0" }).frame, isText("bad load: id contains a null byte")));
    it("a request of the age of request_server_ttl and more", () => {
      const ts = Math.floor(Date.now() / 1_000) - serverTtlSeconds - 1;
      return isAnswered(good.seal(aReturn(), { ts }).frame, isBadLoad);
    });
    it("a request without a time, while there is a request_server_ttl", () =>
      isAnswered(good.seal(aReturn(), { ts: undefined }).frame, isBadLoad));
  });

  describe("as versions", () => {
    for (const version of [0, 1, 2, 4, 99]) {
      it(`version ${version} sealed`, () => {
        const sealed = good.keys.aes.crypticle.seal(encode({ ...aReturn(), id: "good", tok: good.token }, "raw"));
        return isAnswered(encodeSealedRequest(sealed, { version, id: "good" }), isBadLoad);
      });
      it(`version ${version} in clear`, () => isAnswered(authFrame({}, version), isBadLoad));
    }
    it("a version that is not a number", () =>
      isAnswered(encode({ enc: "clear", load: { cmd: "ping" }, version: "three" }, "raw"), isUnreadable));
  });

  describe("as _auth", () => {
    for (const [name, id] of [
      ["that climbs out of its directory", "../../evil"],
      ["with a slash", "a/b"],
      ["with a backslash", "a\\b"],
      ["of 10 KB", "x".repeat(10_240)],
      ["of no letters", ""],
    ] as const) {
      it(`an id ${name}`, () => isAnswered(authFrame({ id }), isRefusal));
    }
    it("an id with a NUL", () =>
      isAnswered(authFrame({ id: "new\0comer" }), isText("bad load: id contains a null byte")));
    it("an id that is not text", () =>
      isAnswered(authFrame({ id: 7 }), (reply) => assert.match(String(decode(reply)), /^bad load: id/)));
    it("no id", () => isAnswered(authFrame({ id: undefined }), isUnreadable));
    for (const [name, pub] of [
      ["no public key", undefined],
      ["an empty public key", ""],
      ["a public key that is none", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----"],
      ["a public key of 512 bits", publicPem(512)],
      ["a public key of 20 KB", "A".repeat(20_000)],
    ] as const) {
      it(name, () => isAnswered(authFrame({ pub }), isRefusal));
    }
    it("more than any _auth has, unread", () => isAnswered(authFrame({ pub: "A".repeat(1_000_000) }), isRefusal));
    it("an unknown signing algorithm", () =>
      isAnswered(authFrame({ sig_algo: "PKCS1v15-MD5" }), isAlgorithmRefusal("sig")));
    it("an unknown encryption algorithm", () =>
      isAnswered(authFrame({ enc_algo: "ROT13", token: Buffer.alloc(256, 1) }), isAlgorithmRefusal("enc")));
  });

  describe("as commands of an operator", () => {
    for (const cmd of ["publish", "wheel", "runner"]) {
      it(`${cmd} with a wrong key`, () => {
        const load = { cmd, fun: "test.ping", tgt: "*", arg: [], tgt_type: "glob", key: "x".repeat(76), user: "root" };
        return isAnswered(encodeClearRequest(load, 3), isCredentialError);
      });
      it(`${cmd} with a wrong key behind a large argument`, () => {
        const load = { cmd, fun: "test.ping", tgt: "*", arg: ["x".repeat(200_000)], key: "x".repeat(76), user: "root" };
        return isAnswered(encodeClearRequest(load, 3), isCredentialError);
      });
      it(`${cmd} without a key`, () =>
        isAnswered(encodeClearRequest({ cmd, fun: "test.ping", tgt: "*", arg: [] }, 3), isCredentialError));
    }
  });

  describe("at the sockets", () => {
    it("a frame over request_max_bytes costs its own connection, and no other", async () => {
      const socket = new Request({ linger: 0 });
      try {
        const disconnected = new Promise<void>((resolve) => socket.events.on("disconnect", () => resolve()));
        socket.connect(`tcp://127.0.0.1:${master.requestPort}`);
        await socket.send(Buffer.alloc(requestBytesMax + 1_024));
        await within(doorTimeoutMs, disconnected);
      } finally {
        socket.close();
      }
      await goodWorks();
      assert.equal(await other.return("20260102030406000000"), null);
    });

    it("bytes that are not ZeroMQ's, on both ports", async () => {
      for (const port of [master.requestPort, master.publishPort]) {
        const socket = connect(port, "127.0.0.1");
        const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
        socket.on("error", () => socket.destroy());
        socket.end("GET / HTTP/1.1\r\nHost: example.net\r\n\r\n");
        socket.resume();
        await within(doorTimeoutMs, closed);
        await goodWorks();
      }
    });

    it("bytes that are not an event, on the bus: others' events go on", async () => {
      const seen = deferred();
      const subscriber = await EventSubscriber.connect(join(master.socketDirectory, "master_event_pub.ipc"), {
        onEvent: (body) => {
          if (splitEvent(body).tag === "after/garbage") seen.resolve();
        },
        onClose: (error) => seen.reject(error ?? new Error("the bus closed")),
      });
      const pull = join(master.socketDirectory, "master_event_pull.ipc");
      const socket = connect(pull);
      const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
      socket.on("error", () => socket.destroy());
      socket.write(Buffer.alloc(1_000, 0xc1));
      socket.resume();
      await within(doorTimeoutMs, closed);
      await fireEvents(pull, [encodeEvent("after/garbage", {})]);
      await within(doorTimeoutMs, seen.promise);
      subscriber.close();
    });
  });

  it("leaves no trace among the keys", () => {
    assert.deepEqual(keyFiles(), keyFilesBefore);
  });
});

type Deferred = { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void };

function deferred(): Deferred {
  let resolve: () => void = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

async function within<Result>(timeoutMs: number, result: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
