import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clearFrameBytesMax } from "../../../src/limits.ts";
import { readRoute } from "../../../src/master/route.ts";
import { standingOf } from "../../../src/master/waiting/standing.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable } from "../../../src/wire/values.ts";

const questions = {
  isAccepted: (id: string) => id === "web1",
  hasRightKey: (user: string | undefined, key: Uint8Array) =>
    user === "root" && Buffer.from(key).equals(Buffer.from("right")),
};
const of = (frame: Buffer, isProven = false) => standingOf(readRoute(frame), frame.byteLength, isProven, questions);
const sealed = (id: string, version = 3, bytes = 200) => encodeSealedRequest(Buffer.alloc(bytes), { version, id });
const clear = (load: Record<string, Encodable>) => encodeClearRequest(load, 3);
const large = "x".repeat(clearFrameBytesMax);

describe("standingOf", () => {
  it("is proven over a proven connection, or with a right key, whatever the size", () => {
    assert.equal(of(sealed("unknown"), true), "proven");
    assert.equal(of(clear({ cmd: "publish", tgt: large, user: "root", key: "right" })), "proven");
    assert.equal(of(clear({ cmd: "publish", user: "root", key: "wrong" })), "stranger");
    assert.equal(of(clear({ cmd: "publish", user: "eve", key: "right" })), "stranger");
  });

  it("tells minions by their outside id, and leaves older ones the benefit of the doubt", () => {
    assert.equal(of(sealed("web1")), "named");
    assert.equal(of(sealed("web1", 2)), "named");
    assert.equal(of(sealed("web1", 3, clearFrameBytesMax)), "large");
    assert.equal(of(sealed("nobody")), "stranger");
    assert.equal(of(sealed("nobody", 3, clearFrameBytesMax)), undefined);
  });

  it("leaves a large authentication to a worker, which refuses it", () => {
    assert.equal(of(clear({ cmd: "_auth", id: "web1", large })), "stranger");
  });

  it("refuses what is large and can be no operator's, before a worker gets it", () => {
    assert.equal(of(clear({ cmd: "ping" })), "stranger");
    assert.equal(of(clear({ cmd: "ping", large })), undefined);
    assert.equal(of(clear({ cmd: "publish", large, key: "wrong" })), "large", "a worker answers in Salt's words");
    assert.equal(of(encode({ enc: "clear", load: [large] }, "raw")), undefined);
    const targets = new Array(20_000).fill("minion.example.org");
    assert.equal(of(clear({ cmd: "publish", tgt: targets, user: "root", key: "right" })), "large", "too long a walk");
  });
});
