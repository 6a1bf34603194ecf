import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseArguments } from "../../../src/cli/args/words.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { repositoryRoot } from "../../root.ts";

type Input = [words: string[], packed: string | null];
const golden: { inputs: Input[] } = JSON.parse(readFileSync(join(repositoryRoot, "test/golden/yamlify.json"), "utf8"));

describe("parseArguments", () => {
  it("parts keywords from positional words as Salt does", () => {
    let count = 0;
    for (const [words, packed] of golden.inputs) {
      if (packed === null) continue;
      const expected = encode(decode(Buffer.from(packed, "base64")), "bin").toString("hex");
      const got = encode(parseArguments(words, { noParse: ["num"] }), "bin").toString("hex");
      // NaN is the only value whose bytes differ between Python and this program.
      if (!words.some((word) => /\.nan/i.test(word))) assert.equal(got, expected, JSON.stringify(words));
      count += 1;
    }
    assert.ok(count > 300);
  });
  it("ends the list with the marked map of keywords, and only if there are any", () => {
    assert.deepEqual(parseArguments(["a", "k=1", "b"]), [
      "a",
      "b",
      new Map<string, unknown>([
        ["__kwarg__", true],
        ["k", 1],
      ]),
    ]);
    assert.deepEqual(parseArguments(["a"]), ["a"]);
    assert.deepEqual(parseArguments([]), []);
  });
  it("lets the later of two equal keywords win", () => {
    assert.deepEqual(parseArguments(["a=1", "b", "a=2"]), [
      "b",
      new Map<string, unknown>([
        ["__kwarg__", true],
        ["a", 2],
      ]),
    ]);
  });
  it("keeps a job id text, however it is written", () => {
    assert.deepEqual(parseArguments(["10000000000000000000"]), ["10000000000000000000"]);
  });
});
