import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOutputter, outputterNames, renderOutput, unknownOutputterText } from "../../../src/cli/outputters/render.ts";
import type { Value } from "../../../src/wire/values.ts";

const map = (members: Record<string, Value>): Value => new Map(Object.entries(members));
const plain = { colour: false };

describe("renderOutput", () => {
  it("falls back to nested for an unknown outputter", () => {
    assert.equal(renderOutput("bogus", map({ es1: true }), plain), "es1:\n    True");
    assert.equal(unknownOutputterText("bogus"), "Invalid outputter bogus specified, fall back to nested");
    assert.equal(isOutputter("toString"), false);
    assert.equal(renderOutput("toString", map({ es1: true }), plain), "es1:\n    True");
  });
  it("knows every outputter by name", () => {
    assert.ok(outputterNames.every(isOutputter));
  });
  it("shows nothing with quiet", () => {
    assert.equal(renderOutput("quiet", map({ es1: true }), plain), "");
  });
  it("takes text for txt", () => {
    assert.equal(renderOutput("text", map({ es1: "a\nb" }), plain), "es1: a\nes1: b");
  });
  it("highstate shows data other than state runs as nested, minion by minion", () => {
    assert.equal(renderOutput("highstate", map({ es1: "text", es2: [1] }), plain), "es1:\n    text\nes2:\n    - 1");
    const mixed = renderOutput("highstate", map({ es1: "text", es2: ["no such sls"] }), plain);
    assert.equal(mixed, "es1:\n    text\nes2:\n    Data failed to compile:\n----------\n    no such sls");
  });
  it("key shows data other than key lists as nested", () => {
    assert.equal(renderOutput("key", map({ es1: map({ a: 1 }) }), plain), "es1:\n    ----------\n    a:\n        1");
    assert.equal(renderOutput("key", map({ toString: ["a"] }), plain), "toString:\n    - a");
  });
  it("shows bytes that are not text in Python's notation rather than nothing", () => {
    assert.equal(renderOutput("nested", map({ es1: Uint8Array.of(0xff, 0x41) }), plain), "es1:\n    b'\\xffA'");
  });
  it("lets no escape sequence through to the terminal, neither in values nor in keys", () => {
    const data = map({ "e\x1b[2J": ["\x1b]0;title\x07", map({ "k\x1bc": "v\x1b" })] });
    assert.ok(!renderOutput("nested", data, plain).includes("\x1b"));
    assert.ok(!renderOutput("key", map({ minions: map({ "a\x1b": "b\x1b" }) }), plain).includes("\x1b"));
  });
  it("strips long runs of blanks only at the end, and in linear time", () => {
    const text = `${" ".repeat(2_000_000)}x   `;
    assert.equal(renderOutput("raw", text, plain), text.trimEnd());
  });
});

describe("renderOutput as a table", () => {
  it("keeps every line of a cell that is wrapped, of which Salt shows the first alone", () => {
    const row = new Map<string, Value>([
      ["name", "one two three four"],
      ["n", 1],
    ]);
    const shown = renderOutput("table", new Map([["es1", [row]]]), { colour: false, table: { width: 10 } });
    const rule = `    ${"-".repeat(18)}`;
    const header = ["es1:", "----------", rule, "    | N |    Name    |", rule];
    const cells = ["    | 1 |  one two   |", "    |   | three four |", rule];
    assert.deepEqual(shown.split("\n"), [...header, ...cells]);
  });
  it("shows as nested what has no rows or cells of text", () => {
    assert.equal(renderOutput("table", new Map([["es1", [[1], [2]]]]), { colour: false }).split("\n")[1], "    |_");
    assert.equal(renderOutput("profile", new Map([["es1", true]]), { colour: false }), "es1:\n    True");
    assert.equal(renderOutput("overstatestage", new Map([["es1", true]]), { colour: false }), "es1:\n    True");
    assert.equal(renderOutput("virt_query", new Map([["es1", true]]), { colour: false }), "es1:\n    True");
  });
});
