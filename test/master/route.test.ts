import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readRoute } from "../../src/master/route.ts";
import { encode } from "../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../src/wire/request.ts";

const sealed = Buffer.alloc(200_000, 7);

describe("readRoute", () => {
  it("finds the id of a version 3 request behind its sealed load", () => {
    assert.deepEqual(readRoute(encodeSealedRequest(sealed, { version: 3, id: "web1" })), { id: "web1", isAuth: false });
  });

  it("leaves older requests to any worker, whatever id they claim outside", () => {
    for (const version of [0, 2])
      assert.deepEqual(readRoute(encodeSealedRequest(sealed, { version, id: "web1" })), {
        id: undefined,
        isAuth: false,
      });
  });

  it("knows an _auth and its id", () => {
    assert.deepEqual(readRoute(encodeClearRequest({ cmd: "_auth", id: "web1", pub: "PEM" }, 3)), {
      id: "web1",
      isAuth: true,
      pub: encode("PEM", "raw"),
    });
    assert.deepEqual(readRoute(encodeClearRequest({ cmd: "_auth" }, 3)), { id: "", isAuth: true, pub: undefined });
    assert.deepEqual(readRoute(encodeClearRequest({ cmd: "publish", id: "web1" }, 3)).isAuth, false);
  });

  it("does not walk a large clear load", () => {
    const padding = new Array(70_000).fill(0);
    const load = { padding, cmd: "_auth", id: "web1" };
    assert.deepEqual(readRoute(encodeClearRequest(load, 3)), { id: undefined, isAuth: false });
    assert.deepEqual(readRoute(encode({ padding, enc: "aes", load: sealed, version: 3, id: "web1" }, "raw")), {
      id: undefined,
      isAuth: false,
    });
  });

  it("refuses every truncation or routes it as it stands", () => {
    const frame = encodeSealedRequest(sealed.subarray(0, 64), { version: 3, id: "web1" });
    for (let end = 0; end < frame.length; end += 1)
      assert.throws(() => readRoute(frame.subarray(0, end)), /./, `cut at ${end}`);
  });
});
