import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { expiredPerStepMax, tokensMax, tokensOfUserMax } from "../../../src/limits.ts";
import { isTokenKept, Tokens } from "../../../src/store/secrets/tokens.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { type Encodable, Float } from "../../../src/wire/values.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-tokens-"));
after(() => rmSync(folder, { recursive: true }));
const nowMs = 1_800_000_000_000;

let directories = 0;
function newDirectory(): string {
  directories += 1;
  return join(folder, `tokens${directories}`);
}

function fieldsFor(seconds: number): Map<string, Encodable> {
  return new Map<string, Encodable>([
    ["expire", new Float(nowMs / 1_000 + seconds)],
    ["name", "ann"],
  ]);
}

function makeOne(tokens: Tokens, seconds = 10): string {
  return String(tokens.make(fieldsFor(seconds)).get("token"));
}

describe("tokens", () => {
  it("are kept as digests, which open nothing, in files that only the master may read", () => {
    const directory = newDirectory();
    const tokens = new Tokens(directory, "sha256");
    const token = makeOne(tokens);
    assert.match(token, /^[0-9a-f]{64}$/);
    const [name = "", ...others] = readdirSync(directory);
    assert.deepEqual(others, []);
    assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    const content = readFileSync(join(directory, name));
    for (const form of [token, Buffer.from(token, "hex")])
      assert.ok(!name.includes(String(form)) && !content.includes(form), "the token is on disk");
    for (const stolen of [name, name.slice(0, 64)]) assert.equal(tokens.read(stolen, nowMs), undefined);
    assert.ok(isTokenKept(directory, token) && !isTokenKept(directory, name.slice(0, 64)));
  });

  it("live exactly as long as they say, also after a restart, and a wrong clock removes none", async () => {
    const directory = newDirectory();
    const token = makeOne(new Tokens(directory, "sha256"));
    const restarted = new Tokens(directory, "sha256");
    assert.deepEqual(restarted.read(token, nowMs + 9_999), fieldsFor(10).set("token", token));
    assert.equal(restarted.read(token, nowMs + 10_000), undefined);
    assert.ok(restarted.read(token, nowMs), "the clock was wrong");
    await restarted.sweep(nowMs + 9_999);
    assert.equal(restarted.count, 1);
    await restarted.sweep(nowMs + 10_000);
    assert.deepEqual([restarted.count, readdirSync(directory), restarted.counters.removed], [0, [], 1]);
    assert.equal(restarted.remove(token), false);
  });

  it("are removed by their end in steps, between which other work of the thread runs", async () => {
    const directory = newDirectory();
    const tokens = new Tokens(directory, "sha256");
    for (let index = 0; index < 3 * expiredPerStepMax; index += 1) makeOne(tokens, 10);
    const kept = makeOne(tokens, 600);
    // A copy of a directory may have lost the files' times.
    for (const name of readdirSync(directory)) utimesSync(join(directory, name), 1, 1);
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const restarted = new Tokens(directory, "sha256");
    await restarted.sweep(nowMs + 60_000);
    isOver = true;
    assert.ok(turns >= 3, `${turns} turns`);
    assert.ok(restarted.read(kept, nowMs + 60_000));
    assert.deepEqual([restarted.count, restarted.counters.removed], [1, 3 * expiredPerStepMax]);
    assert.equal(restarted.remove(kept), true);
    await restarted.sweep(nowMs + 3_600_000);
    assert.equal(restarted.counters.removed, 3 * expiredPerStepMax + 1);
  });

  it("in Salt's form, as an earlier release wrote them, are good and lose that form", async () => {
    const directory = newDirectory();
    const tokens = new Tokens(directory, "sha256");
    const [used, swept, over] = ["ab", "bc", "cd"].map((pair) => pair.repeat(32)) as [string, string, string];
    const write = (token: string, seconds: number, name = token) => {
      const fields = { start: 1.5, expire: new Float(nowMs / 1_000 + seconds), name: "ann", eauth: "pam", token };
      writeFileSync(join(directory, name), encode(fields, "bin"));
    };
    write(used, 10);
    write(swept, 10);
    write(over, -10);
    assert.ok(isTokenKept(directory, used));
    assert.equal(tokens.read(used, nowMs)?.get("name"), "ann");
    assert.equal(existsSync(join(directory, used)), false);
    await tokens.sweep(nowMs);
    assert.deepEqual([tokens.counters.converted, tokens.count], [3, 2]);
    for (const name of readdirSync(directory)) assert.ok(![used, swept, over].includes(name), name);
    for (const token of [used, swept]) assert.equal(tokens.read(token, nowMs)?.get("token"), token);
    assert.equal(tokens.read(over, nowMs), undefined);
  });

  it("are not what other files hold", async () => {
    const directory = newDirectory();
    const tokens = new Tokens(directory, "sha256");
    writeFileSync(join(folder, "secret"), encode({ expire: nowMs, token: "../secret" }, "bin"));
    for (const name of ["../secret", "", ".", "AB".repeat(32), `${"ab".repeat(32)}\0`]) {
      assert.equal(tokens.read(name, nowMs), undefined, name);
      assert.equal(tokens.remove(name), false, name);
    }
    const damaged = "cd".repeat(32);
    writeFileSync(join(directory, damaged), "\xc1");
    assert.equal(tokens.read(damaged, nowMs), undefined);
    const borrowed = "ef".repeat(32);
    writeFileSync(join(directory, borrowed), encode({ expire: nowMs, token: damaged }, "bin"));
    assert.equal(tokens.read(borrowed, nowMs), undefined, "its name is not its token");
    const token = makeOne(tokens);
    const [ours = ""] = readdirSync(directory).filter((name) => name.endsWith(".token"));
    writeFileSync(join(directory, ours), encode({ expire: new Float(nowMs), digest: "0".repeat(64) }, "bin"));
    assert.equal(tokens.read(token, nowMs), undefined, "the content is another token's");
    await tokens.sweep(nowMs);
    assert.deepEqual(readdirSync(directory), [ours]);
  });

  it("have a bound for each user: the one that was not used for the longest time gives way", () => {
    const directory = newDirectory();
    const tokens = new Tokens(directory, "sha256");
    for (let gone = 0; gone < 5; gone += 1) tokens.remove(makeOne(tokens));
    const [first, second] = [makeOne(tokens), makeOne(tokens)];
    const other = String(tokens.make(fieldsFor(10).set("name", "bob")).get("token"));
    for (let made = 2; made < tokensOfUserMax; made += 1) makeOne(tokens);
    assert.deepEqual([readdirSync(directory).length, tokens.counters.displaced], [tokensOfUserMax + 1, 0]);
    assert.ok(tokens.read(first, nowMs), "used, so that the second one is the oldest");
    makeOne(tokens);
    assert.deepEqual([tokens.mostOfUser, tokens.counters.displaced], [tokensOfUserMax, 1]);
    assert.equal(readdirSync(directory).length, tokensOfUserMax + 1);
    assert.equal(tokens.read(second, nowMs), undefined);
    assert.ok(tokens.read(first, nowMs) && tokens.read(other, nowMs));
  });

  it("that a sweep removed no longer count for their user", async () => {
    const tokens = new Tokens(newDirectory(), "sha256");
    for (let index = 0; index < 5; index += 1) makeOne(tokens, 10);
    makeOne(tokens, 1_000_000);
    assert.equal(tokens.mostOfUser, 6);
    await tokens.sweep(nowMs + 100_000);
    assert.equal(tokens.mostOfUser, 1);
  });

  it("have a bound, which says so", () => {
    const tokens = new Tokens(newDirectory(), "sha256");
    Object.defineProperty(tokens, "count", { value: tokensMax });
    assert.throws(() => makeOne(tokens), { code: "QUEUE_FULL" });
    assert.equal(tokens.counters.refused, 1);
  });
});
