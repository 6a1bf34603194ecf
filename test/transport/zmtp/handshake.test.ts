/** Each release's greeting as its libzmq sends it, cut at every byte. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { commandFrame } from "../../../src/transport/zmtp/frames.ts";
import {
  Greeting,
  type Handshake,
  isReadyOfPartner,
  publisherRole,
  routerRole,
  signature,
} from "../../../src/transport/zmtp/handshake.ts";

const zeros = (bytes: number) => Buffer.alloc(bytes);
const mechanism = (name: string) => Buffer.concat([Buffer.from(name), zeros(20 - name.length)]);
const greeting30 = (name: string) =>
  Buffer.concat([Buffer.of(0xff), zeros(8), Buffer.of(0x7f, 3, 0), mechanism(name), zeros(32)]);

function greet(
  bytes: Buffer,
  step: number,
  role = routerRole,
): { handshake: Handshake | undefined; sent: Buffer; used: number } {
  const greeting = new Greeting(role);
  let sent = signature;
  for (let end = step; ; end = Math.min(end + step, bytes.length)) {
    const result = greeting.read(bytes.subarray(0, end));
    if (result.kind === "malformed") return { handshake: undefined, sent, used: 0 };
    sent = Buffer.concat([sent, result.send]);
    if (result.kind === "done") return { handshake: result.handshake, sent, used: result.used };
    if (end >= bytes.length) return { handshake: undefined, sent, used: -1 };
  }
}

describe("Greeting", () => {
  it("exchanges 64 bytes and READY with 3.x, in any pieces", () => {
    for (let step = 1; step <= 64; step += 1) {
      const { handshake, sent, used } = greet(greeting30("NULL"), step);
      assert.deepEqual(handshake, { framing: "new", firstFrame: "ready", isUnversioned: false });
      assert.equal(used, 64);
      assert.deepEqual([...sent.subarray(0, 12)], [0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1]);
      assert.equal(sent.toString("latin1", 12, 16), "NULL");
      assert.equal(sent.indexOf("READY"), 67);
      assert.ok(sent.includes("ROUTER"));
    }
  });

  it("says its version only to a peer that asks for one", () => {
    const greeting = new Greeting(routerRole);
    const signatureOf30 = greeting30("NULL").subarray(0, 10);
    assert.deepEqual(greeting.read(signatureOf30), { kind: "wait", send: Buffer.of(3) });
    assert.deepEqual(greeting.read(signatureOf30), { kind: "wait", send: Buffer.alloc(0) });
  });

  it("speaks 2.0 with libzmq 3.2: type of socket, empty names, new framing", () => {
    const peer = Buffer.concat([Buffer.of(0xff), zeros(7), Buffer.of(1, 0x7f, 1, 3), Buffer.of(0, 0)]);
    for (let step = 1; step <= peer.length; step += 1) {
      const { handshake, sent, used } = greet(peer, step);
      assert.deepEqual(handshake, { framing: "new", firstFrame: "name", isUnversioned: false });
      assert.equal(used, 12);
      assert.deepEqual([...sent.subarray(10)], [3, 6, 0, 0]);
    }
  });

  it("speaks 1.0 with libzmq 2.x, for which the signature is an empty name in long form", () => {
    for (const name of [Buffer.of(1, 0), Buffer.from([4, 0, 97, 98, 99])]) {
      const { handshake, sent, used } = greet(name, 1);
      assert.deepEqual(handshake, { framing: "old", firstFrame: "name", isUnversioned: true });
      assert.deepEqual([sent, used], [signature, 0]);
    }
    const longName = Buffer.concat([Buffer.of(0xff), zeros(6), Buffer.of(1, 1, 0)]);
    assert.deepEqual(greet(longName, 1).handshake, { framing: "old", firstFrame: "name", isUnversioned: true });
  });

  it("greets as a PUB, by name with 3.x and by its number with 2.0", () => {
    const { sent, handshake } = greet(greeting30("NULL"), 1, publisherRole);
    assert.equal(handshake?.firstFrame, "ready");
    assert.ok(sent.includes("PUB") && !sent.includes("ROUTER"));
    for (const type of [2, 10]) {
      const peer = Buffer.concat([Buffer.of(0xff), zeros(7), Buffer.of(1, 0x7f, 1, type)]);
      assert.deepEqual([...greet(peer, 1, publisherRole).sent.subarray(10)], [3, 1, 0, 0]);
    }
    const requester = Buffer.concat([Buffer.of(0xff), zeros(7), Buffer.of(1, 0x7f, 1, 3)]);
    assert.equal(greet(requester, 12, publisherRole).handshake, undefined);
  });

  it("refuses mechanisms that authenticate, and sockets of other patterns", () => {
    assert.equal(greet(greeting30("PLAIN"), 64).handshake, undefined);
    assert.equal(greet(greeting30("CURVE"), 64).handshake, undefined);
    const subscriber = Buffer.concat([Buffer.of(0xff), zeros(7), Buffer.of(1, 0x7f, 1, 2)]);
    assert.equal(greet(subscriber, 12).handshake, undefined);
  });
});

describe("isReadyOfPartner", () => {
  const property = (name: string, value: string) =>
    Buffer.concat([Buffer.of(name.length), Buffer.from(name), Buffer.of(0, 0, 0, value.length), Buffer.from(value)]);
  const ready = (...properties: Buffer[]) => commandFrame("READY", Buffer.concat(properties)).subarray(2);

  it("takes REQ, DEALER and ROUTER, with any other properties", () => {
    for (const type of ["REQ", "DEALER", "ROUTER"]) {
      assert.ok(isReadyOfPartner(ready(property("Identity", "web1"), property("socket-TYPE", type)), routerRole));
    }
    for (const type of ["SUB", "REP", "PUSH", ""]) {
      assert.ok(!isReadyOfPartner(ready(property("Socket-Type", type)), routerRole));
    }
  });

  it("takes SUB and XSUB for a PUB", () => {
    for (const [type, isTaken] of [
      ["SUB", true],
      ["XSUB", true],
      ["REQ", false],
      ["PUB", false],
    ] as const) {
      assert.equal(isReadyOfPartner(ready(property("Socket-Type", type)), publisherRole), isTaken);
    }
  });

  it("refuses what is cut off or something else", () => {
    const whole = ready(property("Socket-Type", "REQ"));
    for (let end = 0; end < whole.length; end += 1) assert.ok(!isReadyOfPartner(whole.subarray(0, end), routerRole));
    assert.ok(!isReadyOfPartner(commandFrame("HELLO", property("Socket-Type", "REQ")).subarray(2), routerRole));
  });
});
