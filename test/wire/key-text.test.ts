import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cachedAsciiText } from "../../src/wire/key-text.ts";

const textOf = (bytes: Buffer) => cachedAsciiText(bytes, 0, bytes.length);

describe("cachedAsciiText", () => {
  it("knows keys whose bytes were written over since", () => {
    const letters = "abcdefghijklmnopqrstuvwxyz";
    const shared = Buffer.alloc(2);
    // Many share a place of the table, which gives them the chance to be taken for each other.
    for (let round = 0; round < 2; round += 1) {
      for (const first of letters) {
        for (const second of letters) {
          shared.write(`${first}${second}`, "latin1");
          assert.equal(textOf(shared), `${first}${second}`);
        }
      }
    }
    // "load" and "rxaa" share a place.
    for (const key of ["load", "rxaa"]) {
      const bytes = Buffer.from(key);
      assert.equal(textOf(bytes), key);
      bytes.write("load", "latin1");
      assert.equal(textOf(bytes), "load");
      assert.equal(textOf(Buffer.from("load")), "load");
    }
  });

  it("has no text for bytes beyond ASCII", () => {
    assert.equal(textOf(Buffer.from("ü")), undefined);
  });
});
