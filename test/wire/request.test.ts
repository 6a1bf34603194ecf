import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decodedValuesMax,
  envelopeMembersMax,
  headMembersMax,
  headTextBytesMax,
  headValuesMax,
  nestingDepthMax,
} from "../../src/limits.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest, readClearHead, readEnvelope } from "../../src/wire/request.ts";
import type { Encodable } from "../../src/wire/values.ts";
import { codeThrown } from "./only-typed.ts";
import { randomFrom, seedFromClock } from "./random.ts";

const sealed = Buffer.alloc(64, 0xfe);

describe("readEnvelope", () => {
  it("refuses an envelope with more members than any has, told by its header alone", () => {
    const members = (count: number) => {
      const rest = Array.from({ length: count - 2 }, (_, at): [Encodable, Encodable] => [`k${at}`, 0]);
      return encode(new Map<Encodable, Encodable>([["enc", "clear"], ["load", {}], ...rest]), "raw");
    };
    assert.equal(readEnvelope(members(envelopeMembersMax)).enc, "clear");
    assert.throws(() => readEnvelope(members(envelopeMembersMax + 1)), { code: "WIRE_TOO_LARGE" });
    const bomb = encode({ enc: "clear", load: new Array(decodedValuesMax).fill(0) }, "raw");
    assert.throws(() => readEnvelope(bomb), { code: "WIRE_TOO_LARGE" });
  });

  it("reads what each version sends, and gives the ciphertext itself", () => {
    const plainest = readEnvelope(encodeSealedRequest(sealed, { version: 0 }));
    assert.deepEqual(
      { ...plainest, load: Buffer.from(plainest.load) },
      {
        enc: "aes",
        version: 0,
        id: undefined,
        encAlgorithm: undefined,
        sigAlgorithm: undefined,
        load: sealed,
      },
    );
    const fullest = readEnvelope(
      encodeSealedRequest(sealed, { version: 3, id: "m1", encAlgorithm: "OAEP-SHA1", sigAlgorithm: "PKCS1v15-SHA1" }),
    );
    assert.equal(fullest.version, 3);
    assert.equal(fullest.id, "m1");
    assert.equal(fullest.encAlgorithm, "OAEP-SHA1");
    assert.equal(fullest.sigAlgorithm, "PKCS1v15-SHA1");
  });

  it("gives any clear load as its packed bytes", () => {
    for (const load of [{ cmd: "ping", x: [1, { y: null }] }, "notadict", 5] as Encodable[]) {
      const envelope = readEnvelope(encodeClearRequest(load, 2));
      assert.equal(envelope.enc, "clear");
      assert.equal(envelope.version, 2);
      assert.deepEqual(Buffer.from(envelope.load), encode(load, "raw"));
    }
  });

  it("gives views, not copies", () => {
    const frame = encodeSealedRequest(sealed, { version: 2 });
    assert.equal(readEnvelope(frame).load.buffer, frame.buffer);
  });

  it("takes the last of a member that comes twice, as Salt's reader does", () => {
    const frame = Buffer.concat([
      Buffer.of(0x83),
      ...["enc", "aes", "load", "x", "load", "yy"].map((text) => encode(text, "raw")),
    ]);
    assert.deepEqual(Buffer.from(readEnvelope(frame).load), Buffer.from("yy"));
  });

  it("refuses an envelope that lacks or misuses a member", () => {
    const wrong: Encodable[] = [
      {},
      [],
      "text",
      { enc: "aes" },
      { load: "x" },
      { enc: "clear" },
      { enc: "other", load: "x" },
      { enc: 1, load: "x" },
      { enc: "aes", load: 5 },
      { enc: "aes", load: { cmd: "x" } },
      { enc: "aes", load: "x", version: "3" },
      { enc: "aes", load: "x", version: -1 },
      { enc: "aes", load: "x", version: 3.5 },
      { enc: "aes", load: "x", version: 70_000 },
      { enc: "aes", load: "x", version: 3, id: 5 },
      { enc: "aes", load: "x", version: 3, id: Buffer.of(0xff) },
      { enc: "aes", load: "x", version: 3, id: "m", enc_algo: null },
      { enc: "aes", load: "x", version: 3, id: "m", sig_algo: ["x"] },
    ];
    for (const value of wrong) {
      assert.throws(() => readEnvelope(encode(value, "raw")), { code: "WIRE_MALFORMED" }, JSON.stringify(value));
    }
    const frame = encodeSealedRequest(sealed, { version: 2 });
    assert.throws(() => readEnvelope(Buffer.concat([frame, Buffer.of(0xc0)])), { code: "WIRE_MALFORMED" });
  });

  it("refuses each truncation and a nesting bomb, as truncated and as too deep", () => {
    const frame = encodeSealedRequest(sealed, {
      version: 3,
      id: "m1",
      encAlgorithm: "OAEP-SHA1",
      sigAlgorithm: "PKCS1v15-SHA1",
    });
    for (let end = 0; end < frame.length; end += 1) {
      assert.throws(() => readEnvelope(frame.subarray(0, end)), { code: "WIRE_TRUNCATED" }, `${end}`);
    }
    const bomb = Buffer.concat([
      Buffer.of(0x81),
      encode("load", "raw"),
      Buffer.alloc(nestingDepthMax + 1, 0x91),
      Buffer.of(0xc0),
    ]);
    assert.throws(() => readEnvelope(bomb), { code: "WIRE_TOO_DEEP" });
  });

  it("answers changed and random bytes with an envelope or a typed error", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    const frame = encodeSealedRequest(sealed, { version: 3, id: "m1", encAlgorithm: "OAEP-SHA1" });
    for (let round = 0; round < 20_000; round += 1) {
      const changed = Buffer.from(frame);
      for (let count = 1 + random.below(4); count > 0; count -= 1)
        changed[random.below(changed.length)] = random.below(256);
      codeThrown(() => readEnvelope(changed), ["WIRE_"]);
      codeThrown(() => readEnvelope(random.bytes(random.below(40))), ["WIRE_"]);
    }
  });
});

describe("readClearHead", () => {
  const headOf = (load: Encodable) => readClearHead(encode(load, "raw"), 0)?.head;
  const nothing = { cmd: undefined, id: undefined, pub: undefined, user: undefined, key: undefined, login: undefined };

  it("finds command, id and key by walking, and nothing if they are not text", () => {
    const auth = { grains: { id: "not this" }, cmd: "_auth", id: "m1", pub: "PEM" };
    assert.deepEqual(headOf(auth), { ...nothing, cmd: "_auth", id: "m1", pub: encode("PEM", "raw") });
    const publish = { cmd: "publish", tgt: ["a", "b"], key: "secret", user: "sudo_eve", kwargs: { delimiter: ":" } };
    const key = encode("secret", "raw").subarray(1);
    assert.deepEqual(headOf(publish), { ...nothing, cmd: "publish", user: "sudo_eve", key });
    assert.deepEqual(headOf({ cmd: 5, id: Buffer.of(0xff) }), nothing);
    assert.deepEqual(headOf({}), nothing);
  });

  it("finds a token or a password where the command has them: a publish in its kwargs, others among their members", () => {
    const loginOf = (load: Encodable) => headOf(load)?.login;
    assert.equal(loginOf({ kwargs: { eauth: "pam", token: "t" }, cmd: "publish" }), "token");
    assert.equal(loginOf({ cmd: "publish", kwargs: { eauth: "pam" } }), "eauth");
    assert.equal(loginOf({ cmd: "publish", token: "t", kwargs: {} }), undefined);
    assert.equal(loginOf({ cmd: "publish", kwargs: ["token"] }), undefined);
    assert.equal(loginOf({ cmd: "runner", token: "t" }), "token");
    assert.equal(loginOf({ eauth: "pam", cmd: "wheel" }), "eauth");
    assert.equal(loginOf({ cmd: "wheel", kwargs: { token: "t" } }), undefined);
    const many = Object.fromEntries(Array.from({ length: headMembersMax + 1 }, (_, at) => [`k${at}`, 0]));
    assert.equal(loginOf({ cmd: "publish", kwargs: many }), "unread");
  });

  it("takes the last of two members with one name", () => {
    const load = encode({ cmd: "ping", id: "m1" }, "raw");
    const doubled = Buffer.concat([load, encode("cmd", "raw"), encode("_auth", "raw")]);
    doubled[0] = (doubled[0] ?? 0) + 1;
    assert.deepEqual(readClearHead(doubled, 0), { head: { ...nothing, cmd: "_auth", id: "m1" }, end: doubled.length });
  });

  it("gives up at too many members, told by the header alone, and at too many values in one", () => {
    const many = (count: number) =>
      new Map<Encodable, Encodable>(Array.from({ length: count }, (_, at) => [`k${at}`, 0]));
    assert.ok(readClearHead(encode(many(headMembersMax), "raw"), 0));
    assert.equal(readClearHead(encode(many(headMembersMax + 1), "raw"), 0), undefined);
    const list = (count: number) => ({ tgt: new Array(count).fill(0), cmd: "publish" });
    assert.equal(headOf(list(headValuesMax - 1))?.cmd, "publish");
    assert.equal(headOf(list(headValuesMax)), undefined);
    const name = (bytes: number) => headOf({ cmd: "x".repeat(bytes) })?.cmd?.length;
    assert.equal(name(headTextBytesMax - 3), headTextBytesMax - 3);
    assert.equal(name(headTextBytesMax), undefined);
  });

  it("refuses a load that is not a map", () => {
    for (const load of ["notadict", [], 5, null] as Encodable[]) {
      assert.throws(() => readClearHead(encode(load, "raw"), 0), { code: "WIRE_MALFORMED" });
    }
  });
});

describe("encodeClearRequest", () => {
  it("sends version 0 as no version", () => {
    assert.deepEqual(
      decode(encodeClearRequest({ cmd: "ping" }, 0)),
      new Map<string, unknown>([
        ["enc", "clear"],
        ["load", new Map([["cmd", "ping"]])],
      ]),
    );
  });
});
