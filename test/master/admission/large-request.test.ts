import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mayBeLarge } from "../../../src/master/admission/large-request.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../../src/wire/request.ts";
import type { Encodable } from "../../../src/wire/values.ts";

const startOf = (frame: Buffer) => frame.subarray(0, 1_024);
const large = "x".repeat(100_000);
const clear = (load: Encodable) => startOf(encodeClearRequest(load, 3));

describe("mayBeLarge", () => {
  it("lets sealed requests and operators' commands pass, wherever the command stands", () => {
    assert.ok(mayBeLarge(startOf(encodeSealedRequest(Buffer.from(large), { version: 3, id: "web1" }))));
    for (const cmd of ["publish", "runner", "wheel"]) assert.ok(mayBeLarge(clear({ cmd, arg: large })), cmd);
    assert.ok(mayBeLarge(clear({ fun: "jobs.list_jobs", arg: large, cmd: "runner" })), "behind what has come so far");
  });

  it("refuses every other command, too many members, and bytes that are not a request", () => {
    for (const cmd of ["ping", "_auth", "mk_token", "constructor"])
      assert.equal(mayBeLarge(clear({ cmd, large })), false, cmd);
    const members = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`key${at}`, 0]));
    assert.equal(mayBeLarge(clear({ cmd: "publish", ...members })), false);
    assert.equal(mayBeLarge(startOf(encode({ ...members, enc: "clear" }, "raw"))), false);
    for (const value of [[large], large, 5, { enc: "clear", load: [large] }] as Encodable[])
      assert.equal(mayBeLarge(startOf(encode(value, "raw"))), false);
    assert.equal(mayBeLarge(Buffer.alloc(1_024, 0xc1)), false);
  });
});
