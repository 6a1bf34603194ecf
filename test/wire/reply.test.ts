import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { decodePublish, encodePublish } from "../../src/wire/publish.ts";
import {
  type AuthAccepted,
  badLoad,
  decodeAuthReply,
  decodePrivateData,
  decodePrivateReply,
  decodePrivateSigned,
  decodeRawReply,
  encodeAuthAccepted,
  encodeAuthVerdict,
  encodeClearReply,
  encodePrivateReply,
  encodeRawReply,
  encodeSignedReply,
} from "../../src/wire/reply.ts";
import { codeThrown } from "./only-typed.ts";
import { randomFrom, seedFromClock } from "./random.ts";

const accepted: AuthAccepted = {
  pubKey: "-----BEGIN PUBLIC KEY-----",
  publishPort: 4505,
  aes: new Uint8Array(Buffer.alloc(256, 0xfa)),
  session: new Uint8Array(Buffer.alloc(256, 0xfb)),
  sig: new Uint8Array(Buffer.alloc(256, 0xfc)),
  nonce: "0".repeat(32),
};

describe("raw replies", () => {
  it("are one string of the raw flavour, whatever their size", () => {
    for (const length of [0, 1, 31, 32, 64, 65_535, 65_536, 100_000]) {
      const bytes = Buffer.alloc(length, 0xc1);
      const frame = encodeRawReply(bytes);
      assert.deepEqual(frame, encode(bytes, "raw"), `${length}`);
      assert.deepEqual(Buffer.from(decodeRawReply(frame)), bytes);
    }
    assert.deepEqual(badLoad, Buffer.from("\xa8bad load", "latin1"));
  });

  it("refuses a reply that is not one string", () => {
    for (const frame of [encode({}, "raw"), encode(null, "raw"), encode([], "raw")]) {
      assert.throws(() => decodeRawReply(frame), { code: "WIRE_MALFORMED" });
    }
  });
});

describe("auth replies", () => {
  it("give the verdict, the nonce and what was signed", () => {
    for (const ret of [true, false, "full"] as const) {
      const content = encodeAuthVerdict(ret, "n".repeat(32));
      const reply = decodeAuthReply(encodeSignedReply(content, Buffer.alloc(256, 0xfe)));
      assert.equal(reply.ret, ret);
      assert.equal(reply.nonce, "n".repeat(32));
      assert.deepEqual(Buffer.from(reply.signed?.bytes ?? []), content);
      assert.deepEqual(Buffer.from(reply.signed?.sig ?? []), Buffer.alloc(256, 0xfe));
      assert.equal(reply.accepted, undefined);
    }
  });

  it("give what an accepted minion needs, signed or, for version 0, bare", () => {
    const content = encodeAuthAccepted(accepted);
    assert.deepEqual(decodeAuthReply(encodeSignedReply(content, Buffer.alloc(4))).accepted, accepted);
    assert.deepEqual(decodeAuthReply(content).accepted, accepted);
    assert.equal(decodeAuthReply(content).signed, undefined);
  });

  it("read an unsigned refusal of an algorithm", () => {
    const reply = decodeAuthReply(encodeClearReply({ ret: "bad sig algo" }));
    assert.equal(reply.ret, "bad sig algo");
    assert.equal(reply.signed, undefined);
  });

  it("refuse anything else with a typed error, and each truncation", () => {
    for (const frame of [
      badLoad,
      encode({}, "raw"),
      encode({ enc: "pub" }, "raw"),
      encodeSignedReply(Buffer.of(0xc0), Buffer.of(1)),
    ]) {
      assert.throws(() => decodeAuthReply(frame), { code: "WIRE_MALFORMED" });
    }
    const frame = encodeSignedReply(encodeAuthAccepted(accepted), Buffer.alloc(256, 0xfe));
    for (let end = 0; end < frame.length; end += 1) {
      assert.throws(() => decodeAuthReply(frame.subarray(0, end)), { code: "WIRE_TRUNCATED" }, `${end}`);
    }
  });
});

describe("private replies", () => {
  it("tell an error of the master from a reply", () => {
    const reply = decodePrivateReply(encodePrivateReply({ key: Buffer.of(1, 0xff), pillar: Buffer.of(2, 0xff) }));
    assert.deepEqual(Buffer.from(reply.key), Buffer.of(1, 0xff));
    assert.throws(() => decodePrivateReply(encode({ error: "bad load" }, "raw")), {
      code: "REQUEST_REFUSED",
      message: "bad load",
    });
    assert.throws(() => decodePrivateReply(badLoad), { code: "REQUEST_REFUSED" });
    assert.throws(() => decodePrivateSigned(encode({ data: "x" }, "raw")), { code: "WIRE_MALFORMED" });
    assert.throws(() => decodePrivateData(encode({ key: "k", pillar: {} }, "raw")), { code: "WIRE_MALFORMED" });
  });
});

describe("publishes", () => {
  it("are refused unless they are encrypted and carry a load", () => {
    const publish = {
      load: new Uint8Array(Buffer.alloc(80, 0xfe)),
      sigAlgorithm: "PKCS1v15-SHA1",
      sig: new Uint8Array(Buffer.alloc(256, 0xfd)),
    };
    const frame = encodePublish(publish);
    assert.deepEqual(decodePublish(frame), publish);
    assert.deepEqual(decodePublish(encodePublish({ load: publish.load })), { load: publish.load });
    assert.deepEqual([...(decode(frame) as Map<string, unknown>).keys()], ["enc", "load", "sig_algo", "sig"]);
    for (const wrong of [{ enc: "clear", load: "x" }, { enc: "aes" }, []]) {
      assert.throws(() => decodePublish(encode(wrong, "raw")), { code: "WIRE_MALFORMED" });
    }
    for (let end = 0; end < frame.length; end += 1) {
      assert.throws(() => decodePublish(frame.subarray(0, end)), { code: "WIRE_TRUNCATED" });
    }
  });
});

describe("decoders of replies", () => {
  it("answer changed and random bytes with a value or a typed error", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    const frame = encodeSignedReply(encodeAuthAccepted(accepted), Buffer.alloc(16, 0xfe));
    const decoders = [
      decodeRawReply,
      decodeAuthReply,
      decodePrivateReply,
      decodePrivateSigned,
      decodePrivateData,
      decodePublish,
    ];
    for (let round = 0; round < 3_000; round += 1) {
      const changed = Buffer.from(frame);
      for (let count = 1 + random.below(4); count > 0; count -= 1) changed[random.below(80)] = random.below(256);
      for (const decoder of decoders) {
        codeThrown(() => decoder(changed), ["WIRE_", "REQUEST_REFUSED"]);
        codeThrown(() => decoder(random.bytes(random.below(30))), ["WIRE_", "REQUEST_REFUSED"]);
      }
    }
  });
});
