import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { headMembersMax } from "../../../src/limits.ts";
import { readRoute } from "../../../src/master/admission/route.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../../src/wire/request.ts";

const sealed = Buffer.alloc(200_000, 7);

describe("readRoute", () => {
  it("finds the id of a version 3 request behind its sealed load", () => {
    const frame = encodeSealedRequest(sealed, { version: 3, id: "web1" });
    assert.deepEqual(readRoute(frame), { kind: "sealed", id: "web1" });
  });

  it("leaves older requests to any worker, with any id outside of the seal", () => {
    for (const version of [0, 2])
      assert.deepEqual(readRoute(encodeSealedRequest(sealed, { version, id: "web1" })), {
        kind: "sealed",
        id: undefined,
      });
  });

  it("knows an _auth and its id", () => {
    assert.deepEqual(readRoute(encodeClearRequest({ cmd: "_auth", id: "web1", pub: "PEM" }, 3)), {
      kind: "auth",
      id: "web1",
      pub: encode("PEM", "raw"),
    });
    assert.deepEqual(readRoute(encodeClearRequest({ cmd: "_auth" }, 3)), { kind: "auth", id: "", pub: undefined });
  });

  it("reads an operator's credentials beside arguments of any size", () => {
    const arg = [Buffer.alloc(300_000, 65)];
    const route = readRoute(encodeClearRequest({ cmd: "publish", arg, key: "secret", user: "root" }, 3));
    assert.ok(route.kind === "clear");
    assert.deepEqual([route.head?.cmd, String(route.head?.key), route.head?.user], ["publish", "secret", "root"]);
  });

  it("does not walk through many values or members", () => {
    const padding = new Array(70_000).fill(0);
    assert.deepEqual(readRoute(encodeClearRequest({ padding, cmd: "_auth", id: "web1" }, 3)), {
      kind: "clear",
      head: undefined,
    });
    const late = { padding, enc: "aes", load: sealed, version: 3, id: "web1" };
    assert.deepEqual(readRoute(encode(late, "raw")), { kind: "unreadable" });
    const keys = Object.fromEntries(padding.map((_, at) => [`key-${at}`, 0]));
    const some = Object.fromEntries(Object.entries(keys).slice(0, headMembersMax));
    const few = encodeClearRequest({ ...some, cmd: "_auth" }, 3);
    assert.deepEqual(readRoute(few), { kind: "clear", head: undefined });
    const frame = encodeClearRequest({ ...keys, cmd: "_auth" }, 3);
    const before = performance.now();
    for (let round = 0; round < 1_000; round += 1) assert.deepEqual(readRoute(frame), { kind: "overfull" });
    // Reading them all takes some 10 ms each time.
    assert.ok(performance.now() - before < 2_000);
    assert.deepEqual(readRoute(encode({ ...keys, enc: "aes" }, "raw")), { kind: "unreadable" });
  });

  it("refuses every truncation or routes it as it stands", () => {
    const frame = encodeSealedRequest(sealed.subarray(0, 64), { version: 3, id: "web1" });
    for (let end = 0; end < frame.length; end += 1)
      assert.throws(() => readRoute(frame.subarray(0, end)), /./, `cut at ${end}`);
  });
});
