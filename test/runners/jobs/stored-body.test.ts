import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fieldsOf } from "../../../src/runners/jobs/stored-body.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

describe("fieldsOf", () => {
  it("reads a return's fields", () => {
    assert.equal(fieldsOf(encode({ return: true, retcode: 0 }, "bin")).get("return"), true);
  });

  it("shows that a return cannot be read, so that the rest of the job can be shown", () => {
    const numericKeys = new Map<Encodable, Encodable>(Array.from({ length: 20_000 }, (_, index) => [index, 0]));
    assert.equal(fieldsOf(encode({ return: numericKeys }, "bin")).get("return"), "VALUE_UNREADABLE");
  });
});
