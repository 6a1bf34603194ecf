import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boolField, bytesField, intField, listField, mapField, textField } from "../../src/wire/fields.ts";
import { Float, type ValueMap } from "../../src/wire/values.ts";

describe("fields", () => {
  const map: ValueMap = new Map();
  map
    .set("text", "h\u00e9")
    .set("bytes", Uint8Array.of(0xff))
    .set("packed", new Uint8Array(Buffer.from("h\u00e9")));
  map
    .set("int", 7)
    .set("float", new Float(7))
    .set("fraction", 7.5)
    .set("yes", true)
    .set("list", [1])
    .set("map", new Map());

  it("read text and bytes from either, as long as nothing is lost", () => {
    assert.equal(textField(map, "text"), "h\u00e9");
    assert.equal(textField(map, "packed"), "h\u00e9");
    assert.equal(textField(map, "bytes"), undefined);
    assert.deepEqual(Buffer.from(bytesField(map, "text") ?? []), Buffer.from("h\u00e9"));
    assert.deepEqual(bytesField(map, "bytes"), Uint8Array.of(0xff));
  });

  it("read a member of another type as absent", () => {
    assert.equal(intField(map, "int"), 7);
    for (const key of ["float", "fraction", "yes", "text", "none"]) assert.equal(intField(map, key), undefined, key);
    assert.equal(boolField(map, "yes"), true);
    assert.equal(boolField(map, "int"), undefined);
    assert.deepEqual(listField(map, "list"), [1]);
    assert.equal(listField(map, "map"), undefined);
    assert.deepEqual(mapField(map, "map"), new Map());
    assert.equal(mapField(map, "list"), undefined);
    assert.equal(textField(map, "int"), undefined);
    assert.equal(bytesField(map, "int"), undefined);
  });
});
