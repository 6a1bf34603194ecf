import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeEvent, encodeEvent, encodeEventBytes, FrameReader, frameEvent } from "../../src/wire/event.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import { readEnvelope } from "../../src/wire/request.ts";
import { eventDataBytes, loadAsEventData, readReturn } from "../../src/wire/return.ts";
import type { Encodable, Value, ValueMap } from "../../src/wire/values.ts";
import { mapEntries } from "../../src/wire/walk.ts";
import { codeThrown } from "./only-typed.ts";
import { randomFrom, randomValue, seedFromClock } from "./random.ts";
import { trimEvent } from "./trim-event.ts";
import { readVectors } from "./vectors/cases.ts";
import { checkSealed, keyStringOf, openRecording, type Recording } from "./vectors/recording.ts";
import { checkReply } from "./vectors/reply-cases.ts";
import { bytesFromBase64, type JsonMap } from "./vectors/view.ts";

const stamp = "2026-11-20T15:55:53.970643";
const tok = Buffer.alloc(256, 0xfe);

function dataOf(load: Encodable): Buffer {
  const packed = encode(load, "raw");
  return loadAsEventData(packed, mapEntries(packed), stamp);
}

/** The `_return` loads of a recording, opened, in order. */
function recordedReturns(recording: Recording, exchanges: readonly JsonMap[]): Uint8Array[] {
  const loads: Uint8Array[] = [];
  for (const item of exchanges) {
    if (item.kind === "rep") checkReply(recording, item);
    if (item.kind !== "req") continue;
    recording.requests.set(String(item.conn), item);
    if (item.decrypt === undefined || (item.plain as JsonMap).cmd !== "_return") continue;
    const { load } = readEnvelope(bytesFromBase64(item.payload_b64));
    loads.push(checkSealed(keyStringOf(recording, item.decrypt), load, undefined, item.plain));
  }
  return loads;
}

describe("readReturn", () => {
  for (const release of ["3006", "3007"]) {
    it(`makes of each recorded return the very frame that Salt ${release} put on its bus`, () => {
      const data = readVectors(`exchanges_${release}.json`);
      const loads = recordedReturns(openRecording(data.meta as JsonMap), data.exchanges as JsonMap[]);
      const frames = (readVectors(`events_${release}.json`).events as JsonMap[]).filter((event) =>
        /\/ret\//.test(String(event.tag)),
      );
      assert.ok(frames.length >= 20, `${frames.length} events`);
      for (const event of frames) {
        const { jid, id, _stamp: time } = event.data as JsonMap;
        const load = loads.find((bytes) => {
          const fields = decode(bytes) as ValueMap;
          return fields.get("jid") === jid && fields.get("id") === id;
        });
        assert.ok(load, `the return behind ${String(event.tag)}`);
        const head = readReturn(load, mapEntries(load), String(time));
        assert.ok(head);
        assert.equal(head.jid, jid);
        assert.deepEqual(
          frameEvent(encodeEventBytes(String(event.tag), eventDataBytes(head.data))),
          bytesFromBase64(event.frame_b64),
        );
      }
    });
  }

  it("gives the code, 0 where there is none or one for each function, and whether the load names a target", () => {
    const read = (load: Encodable) => {
      const packed = encode(load, "raw");
      return readReturn(packed, mapEntries(packed), stamp);
    };
    assert.equal(read({ jid: "1", return: 1, retcode: 2 })?.retcode, 2);
    assert.equal(read({ jid: "1", return: 1, retcode: 300 })?.retcode, 300);
    assert.equal(read({ jid: "1", return: 1, retcode: -1 })?.retcode, -1);
    assert.equal(read({ jid: "1", return: 1 })?.retcode, 0);
    assert.equal(read({ jid: "1", return: 1, retcode: { "test.ping": 1 } })?.retcode, 0);
    assert.equal(read({ jid: "1", return: 1 })?.hasTarget, false);
    assert.equal(read({ jid: "1", return: 1, tgt: "m1" })?.hasTarget, true);
    assert.equal(read({ return: 1 }), undefined);
    assert.equal(read({ jid: 5, return: 1 }), undefined);
    assert.equal(read({ jid: "1" }), undefined);
  });
});

describe("loadAsEventData", () => {
  it("leaves token and nonce out, sets the stamp in its place or at the end, and keeps the rest in order", () => {
    const load = { cmd: "_return", tok, id: "m1", return: { tok: "inner", nonce: "inner" }, nonce: "n", ts: 5 };
    assert.deepEqual(
      dataOf(load),
      encode({ cmd: "_return", id: "m1", return: { tok: "inner", nonce: "inner" }, ts: 5, _stamp: stamp }, "bin"),
    );
    const stamped = { _stamp: "earlier", id: "m1", tok };
    assert.deepEqual(dataOf(stamped), encode({ _stamp: stamp, id: "m1" }, "bin"));
    assert.deepEqual(dataOf({}), encode({ _stamp: stamp }, "bin"));
    assert.deepEqual(dataOf({ tok, nonce: "n" }), encode({ _stamp: stamp }, "bin"));
  });

  it("grows its head with the stamp where the count needs it", () => {
    for (const count of [13, 14, 15, 16, 65_534, 65_535]) {
      const load = Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, null]));
      assert.deepEqual(dataOf(load), encode({ ...load, _stamp: stamp }, "bin"), `${count}`);
    }
  });

  it("writes as bin exactly the strings that are not UTF-8, in any place", () => {
    const bad = Buffer.of(0xff, 0xfe);
    const load: Encodable = new Map<Encodable, Encodable>([
      [bad, bad],
      ["tok", tok],
      ["return", [bad, { deep: bad, text: "h\u00e9" }]],
      ["_stamp", bad],
      ["last", bad],
    ]);
    const expected = new Map<Encodable, Encodable>([
      [bad, bad],
      ["return", [bad, { deep: bad, text: "h\u00e9" }]],
      ["_stamp", stamp],
      ["last", bad],
    ]);
    assert.deepEqual(dataOf(load), encode(expected, "bin"));
  });

  it("equals the slow way, decoding and encoding, for random loads", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    for (let round = 0; round < 300; round += 1) {
      const load = new Map<Value, Value>();
      const names = ["cmd", "tok", "return", "nonce", "_stamp", "id", "fun"];
      for (const name of names) if (random.below(3) > 0) load.set(name, randomValue(random, 3));
      const slow = new Map(load);
      slow.delete("tok");
      slow.delete("nonce");
      slow.set("_stamp", stamp);
      const packed = encode(load, "raw");
      const fast = loadAsEventData(packed, mapEntries(packed), stamp);
      // Strings of 32 to 255 bytes keep the header of the raw flavour, which readers of the other know as well.
      assert.deepEqual(decode(fast), slow, `seed ${seed} round ${round}`);
      assert.deepEqual(encode(decode(fast), "bin"), encode(slow, "bin"), `seed ${seed} round ${round}`);
      assert.equal(fast.buffer.byteLength, fast.length, "memory of its own");
    }
  });
});

describe("trimEvent", () => {
  it("gives the same body where nothing is too large, and bounds 5 MB of output", () => {
    const small = encodeEvent("t", { return: "x".repeat(100) });
    assert.equal(trimEvent(small, 1_048_576), small);
    const large = encodeEvent("salt/job/1/ret/m", {
      id: "m",
      return: { stdout: "x".repeat(5_000_000), retcode: 0 },
      jid: "1",
    });
    const trimmed = decodeEvent(trimEvent(large, 1_048_576));
    assert.equal(trimmed.tag, "salt/job/1/ret/m");
    assert.deepEqual(
      trimmed.data,
      decode(encode({ id: "m", return: { stdout: "VALUE_TRIMMED", retcode: 0 }, jid: "1" }, "bin")),
    );
    assert.equal(new FrameReader().push(frameEvent(encodeEvent(trimmed.tag, trimmed.data))).length, 1);
  });

  it("answers broken bodies with a typed error", (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const random = randomFrom(seed);
    const body = encodeEvent("t", { a: "x".repeat(90), b: { c: "y".repeat(90), d: [1, 2] } });
    for (let round = 0; round < 5_000; round += 1) {
      const changed = Buffer.from(body);
      changed[random.below(changed.length)] = random.below(256);
      codeThrown(() => trimEvent(changed, 100), ["WIRE_"]);
    }
    const bomb = Buffer.concat([Buffer.from("t\n\n"), Buffer.alloc(200_000, 0x81)]);
    assert.throws(() => trimEvent(bomb, 100), { name: "SaltworksError" });
  });
});
