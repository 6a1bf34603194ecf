import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseFunctions } from "../../../src/cli/args/functions.ts";

const less = { ok: false, message: "Cannot execute compound command without defining all arguments.", exitCode: 42 };
const more = { ok: false, message: "Cannot execute compound command with more arguments than commands.", exitCode: 42 };

describe("parseFunctions", () => {
  it("gives one function all words, commas among them", () => {
    assert.deepEqual(parseFunctions("test.arg", ["1", ",", "a,b"]), {
      ok: true,
      fun: "test.arg",
      arg: [1, ",", "a,b"],
    });
  });
  it("groups words at separators that stand alone", () => {
    const call = parseFunctions("test.echo,test.ping,test.arg", ["a,b", ",", ",", "1", "2"]);
    assert.deepEqual(call, { ok: true, fun: ["test.echo", "test.ping", "test.arg"], arg: [["a,b"], [], [1, 2]] });
  });
  it("splits inside of words when the separators that stand alone do not fit", () => {
    const call = parseFunctions("test.echo,test.arg", ["a,1", "2"]);
    assert.deepEqual(call, { ok: true, fun: ["test.echo", "test.arg"], arg: [["a"], [1, 2]] });
  });
  it("refuses too few groups", () => {
    assert.deepEqual(parseFunctions("test.ping,test.version", []), less);
    assert.deepEqual(parseFunctions("a.b,c.d,e.f", ["x,y"]), less);
  });
  it("refuses too many groups", () => {
    assert.deepEqual(parseFunctions("test.echo,test.arg", ["a,b,c"]), more);
    assert.deepEqual(parseFunctions("test.echo,test.arg", ["a", ",", ","]), more);
  });
  it("takes another separator, so that commas are ordinary", () => {
    const call = parseFunctions("test.echo,test.echo", ["a,b", "::", "c,d"], "::");
    assert.deepEqual(call, { ok: true, fun: ["test.echo", "test.echo"], arg: [["a,b"], ["c,d"]] });
  });
  it("keeps keywords with their own function, unparsed where that is asked", () => {
    const call = parseFunctions("a.b,c.d", ["k=1", ",", "k=1"], ",", { noParse: ["k"] });
    const keywords = new Map<string, unknown>([
      ["__kwarg__", true],
      ["k", "1"],
    ]);
    assert.deepEqual(call, { ok: true, fun: ["a.b", "c.d"], arg: [[keywords], [keywords]] });
  });
});
