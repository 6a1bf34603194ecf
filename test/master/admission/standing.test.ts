import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clearFrameBytesMax, credentialLoadBytesMax, loadMembersMax } from "../../../src/limits.ts";
import { refusedUnread } from "../../../src/master/admission/refused-unread.ts";
import { readRoute } from "../../../src/master/admission/route.ts";
import { standingOf } from "../../../src/master/admission/standing.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { badLoad } from "../../../src/wire/reply.ts";
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
  it("is proven over a proven connection, or with a right key, at any size", () => {
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

  it("refuses large requests that cannot be an operator's, before a worker gets them", () => {
    assert.equal(of(clear({ cmd: "ping" })), "stranger");
    assert.equal(of(clear({ cmd: "ping", large })), undefined);
    assert.equal(of(encode({ enc: "clear", load: [large] }, "raw")), undefined);
    const targets = new Array(20_000).fill("minion.example.org");
    assert.equal(of(clear({ cmd: "publish", tgt: targets, user: "root", key: "right" })), "large", "too long a walk");
  });

  it("refuses a load with more members than any command has over any connection", () => {
    const members = Object.fromEntries(Array.from({ length: loadMembersMax }, (_, at) => [`key-${at}`, 0]));
    const frame = clear({ cmd: "publish", user: "root", key: "right", ...members });
    assert.equal(of(frame), undefined);
    assert.equal(of(frame, true), undefined);
    assert.deepEqual(refusedUnread(readRoute(frame)), badLoad);
  });

  it("refuses a large operator's command with a wrong key and no login, in Salt's words", () => {
    for (const cmd of ["publish", "runner", "wheel"]) {
      const frame = clear({ cmd, large, user: "root", key: "wrong", kwargs: {} });
      assert.equal(of(frame), undefined, cmd);
      const error = (decode(refusedUnread(readRoute(frame))) as Map<string, Map<string, string>>).get("error");
      assert.equal(error?.get("name"), cmd === "publish" ? "AuthenticationError" : "UserAuthenticationError");
    }
    assert.deepEqual(refusedUnread(readRoute(clear({ cmd: "ping", large }))), badLoad);
  });

  it("takes it with a right key behind the argument, or a login that only a worker can check", () => {
    assert.equal(of(clear({ large, cmd: "runner", user: "root", key: "right" })), "proven");
    assert.equal(of(clear({ cmd: "publish", large, key: "", kwargs: { token: "t" } })), "large");
    const login = { eauth: "pam", username: "eve", password: "x" };
    assert.equal(of(clear({ cmd: "wheel", large, ...login })), "large");
    assert.equal(of(clear({ cmd: "publish", large, key: "wrong", kwargs: login })), "large");
    const larger = "x".repeat(credentialLoadBytesMax);
    assert.equal(of(clear({ cmd: "publish", larger, kwargs: login })), undefined, "no worker holds it for a password");
  });
});
