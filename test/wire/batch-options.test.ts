import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type BatchOptions,
  encodeBatchOptions,
  failuresOf,
  parseShare,
  readBatchOptions,
  windowOf,
} from "../../src/wire/batch-options.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { ValueMap } from "../../src/wire/values.ts";

const share = (text: string) => {
  const parsed = parseShare(text);
  assert.ok(parsed, text);
  return parsed;
};

describe("the size of a batch", () => {
  it("is a number or a percentage written on either side, and never a share of no minions", () => {
    assert.deepEqual(parseShare("3"), { kind: "count", count: 3 });
    for (const text of ["10%", "%10", " 10% "]) assert.deepEqual(parseShare(text), { kind: "percent", percent: 10 });
    for (const text of ["0", "-1", "abc", "", "%", "0%", "-5%", "1.5", "1e9", "ten%"])
      assert.equal(parseShare(text), undefined, text);
  });

  it("cuts a percentage off to whole minions, but not below one", () => {
    const of6 = (text: string) => windowOf(share(text), 6);
    assert.deepEqual(["50%", "%25", "34%", "10%", "100%", "20"].map(of6), [3, 1, 2, 1, 6, 20]);
  });

  it("reaches a limit of failures in percent only when that share has failed", () => {
    const of30 = (text: string) => failuresOf(share(text), 30);
    assert.deepEqual(["10%", "5%", "1%", "4"].map(of30), [3, 2, 1, 4]);
  });
});

describe("batch options", () => {
  const options: BatchOptions = {
    size: "10%",
    waitSeconds: 2,
    isFailHard: true,
    canary: 3,
    failuresMax: "5%",
    isStatic: false,
  };
  const travelled = (fields: object) => decode(encode(fields as never, "raw")) as ValueMap;

  it("travel beside a publish", () => {
    assert.deepEqual(readBatchOptions(travelled(encodeBatchOptions(options))), [options, ""]);
    const plain = { ...options, waitSeconds: 0.5, failuresMax: undefined };
    assert.deepEqual(readBatchOptions(travelled(encodeBatchOptions(plain))), [plain, ""]);
  });

  it("are refused with what is wrong", () => {
    const faultOf = (changes: object) => readBatchOptions(travelled({ ...encodeBatchOptions(options), ...changes }))[1];
    assert.match(faultOf({ size: "0" }), /size: 0/);
    assert.match(faultOf({ max_failures: "many" }), /many/);
    assert.match(faultOf({ wait: -1 }), /seconds/);
    assert.match(faultOf({ canary: -1 }), /canaries/);
  });
});
