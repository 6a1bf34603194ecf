import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { targetDepthMax, targetExpressionBytesMax, targetPatternLengthMax, targetTermsMax } from "../../src/limits.ts";
import { listedIds } from "../../src/target/expected.ts";
import type { Datum, DatumMap, Facts } from "../../src/target/facts.ts";
import { matches } from "../../src/target/match.ts";
import { parseTarget } from "../../src/target/parse.ts";
import { Float } from "../../src/wire/values.ts";
import { asMap } from "./fleet.ts";

const facts: Facts = {
  id: "m1",
  grains: asMap({ os: "Debian", ipv4: ["10.0.0.7"], ipv6: ["2001:db8::7"], ratio: 0.5, big: { 8080: "open" } }),
  pillar: asMap({ secret: "s3cret", app: { name: "shop" } }),
  data: asMap({ shelf: ["Top", "low"], box: { red: 1 }, word: "hello" }),
};
const isMatch = (kind: string, expression: string | string[], delimiter?: string) =>
  matches(parseTarget(kind, expression, delimiter), facts);

describe("parseTarget", () => {
  it("refuses ranges and nodegroups and names them", () => {
    assert.throws(() => parseTarget("range", "%web"), { code: "TARGET_INVALID", message: /range refused/ });
    assert.throws(() => parseTarget("nodegroup", "WEB"), { code: "TARGET_INVALID", message: /nodegroup refused/ });
    assert.throws(() => parseTarget("compound", "R@x or es1"), { code: "TARGET_INVALID", message: /range refused/ });
    assert.throws(() => parseTarget("compound", "es1 or N@x"), { message: /nodegroup refused/ });
  });
  it("refuses unknown kinds", () => {
    assert.throws(() => parseTarget("compass", "x"), { code: "TARGET_INVALID", message: /unknown kind "compass"/ });
  });
  it("says what is wrong with an expression", () => {
    const reasons: [string, string, RegExp][] = [
      ["pcre", "[", /unterminated character set/],
      ["grain", "os", /no ":" between key and value/],
      ["ipcidr", "10.0.0.7/8", /host bits must be zero/],
      ["compound", "es1 es2", /two terms without operator/],
      ["compound", "es1 and", /ends with an operator/],
      ["compound", "or es1", /unexpected "or"/],
      ["compound", "es1 )", /unexpected \)/],
      ["compound", "", /empty expression/],
      ["data", "x", /no ":"/],
    ];
    for (const [kind, expression, message] of reasons) {
      assert.throws(() => parseTarget(kind, expression), { code: "TARGET_INVALID", message }, `${kind} ${expression}`);
    }
  });

  it("finds keys that are not text by their spelling in YAML, and treats 1 and true as one key, as Python does", () => {
    const pillar = new Map<Datum, Datum>([
      [null, "none"],
      [true, "yes"],
      [31, new Map<Datum, Datum>([[new Float(7), "seven"]])],
      [-2, "negative"],
      [10n ** 18n, "big"],
    ]);
    const finds = (expression: string) => matches(parseTarget("pillar", expression), { ...facts, pillar });
    for (const found of ["None:none", "null:none", "yes:yes", "on:yes", "1:yes", "031:7.0:seven", "0x1F:7:seven"])
      assert.ok(finds(found), found);
    for (const found of ["-2:negative", "1000000000000000000:big"]) assert.ok(finds(found), found);
    for (const missed of ["none:none", "0:yes", "31:7.5:*", "1_0:*", "017:*"]) assert.ok(!finds(missed), missed);
  });
  it("takes a lone * for the whole data, never for a key of that name", () => {
    const pillar = new Map<Datum, Datum>([["*", [[]]]]);
    const finds = (expression: string, delimiter: string) =>
      matches(parseTarget("pillar", expression, delimiter), { ...facts, pillar });
    assert.ok(!finds("*;[]", ";"));
    assert.ok(finds("*:[]", ":"));
  });
  it("asks for a map by *, in regular expressions too", () => {
    assert.ok(isMatch("grain_pcre", "big:*"));
    assert.ok(isMatch("pillar_pcre", "app:*"));
    assert.ok(!isMatch("grain_pcre", "os:*"));
  });
  it("compares lists and bytes as Python writes them", () => {
    const pillar = new Map<Datum, Datum>([
      ["a", [["x\ty", "\u200b"], Uint8Array.of(0xff, 39)]],
      ["b", Uint8Array.of(10, 97)],
    ]);
    const finds = (expression: string) => matches(parseTarget("pillar_exact", expression), { ...facts, pillar });
    for (const found of ["a:['x\\ty', '\\u200b']", 'a:b"\\xff\'"', "b:b'\\na'"]) assert.ok(finds(found), found);
  });
  it("takes no address with an empty zone or a network in it", () => {
    assert.ok(isMatch("ipcidr", "2001:db8::7"));
    for (const expression of ["2001:db8::7%", "2001:db8::7%a/64", "2001:db8::7%a%b"])
      assert.throws(() => parseTarget("ipcidr", expression), { code: "TARGET_INVALID" });
  });

  it("bounds the bytes of an expression, also of a list of names", () => {
    const most = "a".repeat(targetExpressionBytesMax);
    assert.equal(parseTarget("list", most).kind, "list");
    assert.throws(() => parseTarget("list", `${most}a`), { code: "TARGET_INVALID", message: /bytes/ });
    assert.throws(() => parseTarget("list", [most, "a"]), { code: "TARGET_INVALID", message: /bytes/ });
  });
  it("bounds the characters of one pattern", () => {
    const most = "a".repeat(targetPatternLengthMax);
    for (const kind of ["glob", "pcre"]) {
      assert.equal(parseTarget(kind, most).kind, kind);
      assert.throws(() => parseTarget(kind, `${most}a`), { code: "TARGET_INVALID", message: /characters/ });
    }
    for (const kind of ["grain", "pillar_pcre", "data"]) {
      assert.throws(() => parseTarget(kind, `a:${most}`), { code: "TARGET_INVALID", message: /characters/ });
    }
    assert.throws(() => parseTarget("compound", `es1 or E@${most}a`), { message: /characters/ });
  });
  it("bounds the words of a compound", () => {
    const words = (count: number) => new Array<string>(count).fill("es1").join(" or ");
    assert.equal(parseTarget("compound", words(targetTermsMax / 2)).kind, "compound");
    assert.throws(() => parseTarget("compound", words(targetTermsMax / 2 + 1)), { message: /more than \d+ words/ });
  });
  it("bounds the parts of a key", () => {
    const parts = (count: number) => new Array<string>(count).fill("a").join(":");
    assert.equal(parseTarget("grain", parts(targetDepthMax)).kind, "grain");
    assert.throws(() => parseTarget("grain", parts(targetDepthMax + 1)), { message: /65 parts/ });
  });
  it("bounds the parentheses of a compound", () => {
    const nested = (depth: number) => `${"( ".repeat(depth)}es1${" )".repeat(depth)}`;
    assert.equal(parseTarget("compound", nested(targetDepthMax)).kind, "compound");
    assert.throws(() => parseTarget("compound", nested(targetDepthMax + 1)), { message: /parentheses deep/ });
  });

  it("lists ids whose keys may be missing, without the ids that a compound excludes", () => {
    assert.deepEqual(listedIds(parseTarget("list", ["a", "b", ""])), ["a", "b", ""]);
    assert.deepEqual(listedIds(parseTarget("list", "a,b,")), ["a", "b"]);
    assert.deepEqual(listedIds(parseTarget("compound", "L@a,b or not L@c")), ["a", "b"]);
    assert.equal(listedIds(parseTarget("glob", "*")), undefined);
  });
});

describe("matches", () => {
  it("compares pillar exactly if a minion supplied the target, so that it cannot probe for values", () => {
    assert.ok(isMatch("pillar", "secret:s*"));
    assert.ok(!isMatch("pillar_exact", "secret:s*"));
    assert.ok(isMatch("pillar_exact", "secret:s3cret"));
    assert.ok(!isMatch("compound_pillar_exact", "I@secret:s*"));
    assert.ok(!isMatch("compound_pillar_exact", "J@secret:s.*"));
    assert.ok(isMatch("compound_pillar_exact", "I@secret:s3cret and J@app:name:shop"));
  });
  it("holds data targets against the minion's own data store", () => {
    assert.ok(isMatch("data", "shelf:top") && isMatch("data", "shelf:lo?") && !isMatch("data", "shelf:x"));
    assert.ok(isMatch("data", "box:red") && !isMatch("data", "box:Red"));
    assert.ok(isMatch("data", "word:hel*") && !isMatch("data", "nothing:x"));
    const { data: _, ...without } = facts;
    assert.ok(!matches(parseTarget("data", "word:hello"), without));
  });
  it("matches addresses of both families by number", () => {
    assert.ok(isMatch("ipcidr", "10.0.0.7") && isMatch("ipcidr", "10.0.0.0/24"));
    assert.ok(isMatch("ipcidr", "10.0.0.0/255.255.255.0") && isMatch("ipcidr", "0.0.0.0/0"));
    assert.ok(isMatch("ipcidr", "2001:0db8:0:0::7") && isMatch("ipcidr", "2001:db8::/32"));
    assert.ok(!isMatch("ipcidr", "10.0.0.8") && !isMatch("ipcidr", "2001:db9::/32") && !isMatch("ipcidr", "::/64"));
    for (const wrong of ["10.0.0.*", "10.0.0", "010.0.0.7", "10.0.0.256", "1::2::3", "10.0.0.0/33", "x", "::1/129"]) {
      assert.throws(() => parseTarget("ipcidr", wrong), { code: "TARGET_INVALID" }, wrong);
    }
  });
  it("reads numbers in keys and values as Python writes them", () => {
    const typed: DatumMap = new Map<Datum, Datum>([
      ["whole", new Float(1)],
      ["small", 0.00001],
      ["huge", new Float(1e20)],
      ["ports", new Map<Datum, Datum>([[8080, "open"]])],
      ["blob", Uint8Array.of(97, 98)],
      ["pair", [["x", null], true]],
    ]);
    const isGrain = (expression: string) =>
      matches(parseTarget("grain", expression), { id: "m1", grains: typed, pillar: new Map() });
    assert.ok(isGrain("whole:1.0") && !isGrain("whole:1"));
    assert.ok(isGrain("small:1e-05") && isGrain("huge:1e+20"));
    assert.ok(isGrain("ports:8080:open") && isGrain("ports:8080"));
    assert.ok(isGrain("blob:b'ab'") && isGrain("pair:?'x', none?") && isGrain("pair:TRUE"));
  });
  it("takes the delimiter that the job names", () => {
    assert.ok(isMatch("pillar", "app/name/shop", "/") && !isMatch("pillar", "app:name/shop", "/"));
    assert.ok(isMatch("compound", "I|@app|name|shop and G@os:debian"));
  });
  it("tries each nested map once for any number of wildcards", () => {
    let nested: Record<string, unknown> = { leaf: 1 };
    for (let depth = 0; depth < 10; depth += 1) nested = { a: nested, b: { ...nested } };
    const grains = asMap(nested);
    const started = performance.now();
    const target = parseTarget("grain", `${"*:".repeat(targetDepthMax - 2)}nothing:here`);
    assert.ok(!matches(target, { id: "m1", grains, pillar: new Map() }));
    assert.ok(performance.now() - started < 30_000);
  });
});
