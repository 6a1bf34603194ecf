import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Tokens } from "../../../src/store/secrets/tokens.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import { Float } from "../../../src/wire/values.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-tokens-"));
after(() => rmSync(folder, { recursive: true }));
const directory = join(folder, "tokens");
const nowMs = 1_800_000_000_000;
const expire = new Float(nowMs / 1_000 + 10);

describe("tokens", () => {
  it("are files of Salt's form that only the master may read", async () => {
    const tokens = new Tokens(directory, "sha256");
    const token = String(
      tokens
        .make(
          new Map<string, string | Float>([
            ["expire", expire],
            ["name", "ann"],
          ]),
        )
        .get("token"),
    );
    assert.match(token, /^[0-9a-f]{64}$/);
    const file = join(directory, token);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    const kept = decode(readFileSync(file));
    assert.ok(kept instanceof Map && kept.get("token") === token && kept.get("name") === "ann");
    assert.deepEqual(tokens.read(token, nowMs), kept);
    assert.equal(tokens.read(token, nowMs + 10_001), undefined);
    assert.deepEqual(tokens.read(token, nowMs), kept, "the clock was wrong");
    await tokens.sweep(nowMs + 10_001);
    assert.equal(tokens.remove(token), false, "an expired one is gone");
  });

  it("of Salt's making are read, and files of other names or contents are none", () => {
    const tokens = new Tokens(directory, "sha256");
    const salts = "ab".repeat(32);
    writeFileSync(
      join(directory, salts),
      encode({ start: 1.5, expire, name: "ann", eauth: "pam", token: salts }, "bin"),
    );
    assert.equal(tokens.read(salts, nowMs)?.get("name"), "ann");
    const outside = join(folder, "secret");
    writeFileSync(outside, encode({ expire, token: "../secret" }, "bin"));
    for (const name of ["../secret", "", ".", "AB".repeat(32), `${salts}\0`]) {
      assert.equal(tokens.read(name, nowMs), undefined, name);
      assert.equal(tokens.remove(name), false, name);
    }
    const damaged = "cd".repeat(32);
    writeFileSync(join(directory, damaged), "\xc1");
    assert.equal(tokens.read(damaged, nowMs), undefined);
    const borrowed = "ef".repeat(32);
    writeFileSync(join(directory, borrowed), encode({ expire, token: salts }, "bin"));
    assert.equal(tokens.read(borrowed, nowMs), undefined, "its name is not its token");
  });
});
