import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decodeReturns,
  encodeReturns,
  pieceIn,
  piecesOf,
  type SharedReturn,
  senderIn,
} from "../../../src/cluster/returns/message.ts";
import { Pieces } from "../../../src/cluster/returns/pieces.ts";
import { returnRepeatWindowMs } from "../../../src/limits.ts";
import { encode } from "../../../src/wire/msgpack.ts";

const returns: readonly SharedReturn[] = [
  { jid: "20261129000000000001", minionId: "web1", ...flags(true, false), body: encode({ return: true }, "bin") },
  { jid: "my job", minionId: "wéb2\u{1F600}", ...flags(false, true), job: "ofReturn", body: Buffer.alloc(0) },
  { jid: "20261129000000000002", minionId: "", ...flags(true, true), job: "below", body: Buffer.of(0x80) },
];

function flags(isStored: boolean, isFailed: boolean) {
  return { isStored, isFailed };
}

/** In one form, because an absent job is undefined once it was read. */
function plain(all: readonly SharedReturn[]) {
  return all.map(({ body, job, ...rest }) => ({ ...rest, job, body: Buffer.from(body).toString("hex") }));
}

function piece(bytes: Buffer) {
  return pieceIn(bytes) ?? assert.fail("not a piece");
}

describe("a message of returns", () => {
  it("has its sender and its returns", () => {
    const message = encodeReturns("mäster1", returns);
    assert.equal(senderIn(message), "mäster1");
    assert.equal(pieceIn(message), undefined);
    assert.deepEqual(plain(decodeReturns(message)), plain(returns));
    assert.deepEqual(decodeReturns(encodeReturns("m", [])), []);
  });

  it("is refused wherever it is cut off, and in another version", () => {
    const message = encodeReturns("m", returns);
    for (let end = 0; end < message.byteLength; end += 1)
      assert.throws(() => decodeReturns(message.subarray(0, end)), { code: "WIRE_MALFORMED" }, String(end));
    message[0] = 0;
    assert.throws(() => senderIn(message), { code: "WIRE_MALFORMED" });
    message[0] = 2;
    assert.throws(() => senderIn(message), { code: "CLUSTER_REFUSED", message: /version 2.*upgrade/ });
    assert.throws(() => decodeReturns(message), { code: "CLUSTER_REFUSED" });
  });

  it("is put together from its pieces in any order, once each", () => {
    const message = encodeReturns("m", returns);
    assert.deepEqual(piecesOf("m", message, message.byteLength), [message]);
    const all = piecesOf("m", message, 20);
    assert.equal(all.length, Math.ceil(message.byteLength / 20));
    assert.throws(() => decodeReturns(all[0] ?? message), { code: "WIRE_MALFORMED" });
    const pieces = new Pieces();
    const [first, ...rest] = all.toReversed();
    assert.ok(first !== undefined);
    assert.equal(pieces.add(piece(first), 7, 0), undefined);
    assert.equal(pieces.add(piece(first), 8, 0), undefined);
    assert.equal(pieces.firstSequence, 7);
    const wholes = rest.map((one, index) => pieces.add(piece(one), 9 + index, 0));
    assert.deepEqual(wholes.at(-1), message);
    assert.ok(wholes.slice(0, -1).every((whole) => whole === undefined));
    assert.equal(pieces.firstSequence, 7, "its returns are not stored yet");
    pieces.noteStored();
    assert.equal(pieces.firstSequence, undefined);
  });

  it("is given up if the rest does not come", () => {
    const pieces = new Pieces();
    const other = piecesOf("m", encodeReturns("other", returns), 20).map(piece);
    const [begun] = piecesOf("m", encodeReturns("m", returns), 20).map(piece);
    assert.ok(begun !== undefined);
    pieces.add(begun, 1, 0);
    for (const [index, one] of other.entries()) pieces.add(one, 2 + index, returnRepeatWindowMs);
    pieces.noteStored();
    assert.deepEqual([pieces.firstSequence, pieces.counters.dropped], [undefined, 1]);
  });
});
