/** The file that a bench and its agents share: who may read it, how long it is, and what is derived from it. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parseAddress, parseAgents } from "../../../bench/agents/addresses.ts";
import { readAgentKey, writeNewSecret } from "../../../bench/agents/secret.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-secret-"));
after(() => rmSync(folder, { recursive: true }));

function secretFile(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

describe("the secret of a bench and its agents", () => {
  it("is written once, for its owner alone, and differs each time", () => {
    const [one, other] = [join(folder, "new"), join(folder, "newer")];
    writeNewSecret(one);
    writeNewSecret(other);
    assert.equal(statSync(one).mode & 0o777, 0o600);
    assert.notDeepEqual(readAgentKey(one), readAgentKey(other));
    const before = readFileSync(one, "utf8");
    assert.throws(() => writeNewSecret(one), { code: "USAGE", message: /exists already, and is not overwritten/ });
    assert.equal(readFileSync(one, "utf8"), before);
    assert.throws(() => writeNewSecret(join(folder, "none", "x")), { code: "USAGE", message: /ENOENT/ });
  });

  it("gives the same key with and without a line's end, and the key is not the secret", () => {
    const text = "s".repeat(32);
    const key = readAgentKey(secretFile("bare", text));
    assert.deepEqual(key, readAgentKey(secretFile("line", `${text}\r\n`)));
    assert.ok(!key.includes("ssss"));
  });

  it("is refused by name if others may use its file, and if it is short, long or missing", () => {
    const path = secretFile("open", "s".repeat(32));
    for (const mode of [0o640, 0o604, 0o620, 0o601]) {
      chmodSync(path, mode);
      assert.throws(() => readAgentKey(path), {
        code: "USAGE",
        message: `the secret file ${path} may be used by others than its owner (mode ${mode.toString(8)}): chmod 600 ${path}`,
      });
    }
    assert.throws(() => readAgentKey(secretFile("short", `${"s".repeat(31)}\n\n`)), { message: /fewer than 32 bytes/ });
    readAgentKey(secretFile("longest", "s".repeat(4_096)));
    assert.throws(() => readAgentKey(secretFile("long", "s".repeat(4_097))), { message: /more than 4096 bytes/ });
    assert.throws(() => readAgentKey(join(folder, "none")), { code: "USAGE", message: /none cannot be read: ENOENT/ });
    assert.throws(() => readAgentKey(folder), { message: /fewer|not a file/ });
  });
});

describe("addresses of agents", () => {
  it("have a default port, and may be IPv6", () => {
    assert.deepEqual(parseAgents("--agents", "gen1,10.0.0.2:99,[::1]:7,[fe80::1%eth0]"), [
      { host: "gen1", port: 4_530 },
      { host: "10.0.0.2", port: 99 },
      { host: "::1", port: 7 },
      { host: "fe80::1%eth0", port: 4_530 },
    ]);
    assert.deepEqual(parseAddress("--listen", "127.0.0.1:0"), { host: "127.0.0.1", port: 0 });
  });

  for (const text of ["", "a:b", "a:70000", "::1", "a b:1", "a:1,", "a:1,a:1", "a:0"]) {
    it(`refuse '${text}'`, () => {
      assert.throws(() => parseAgents("--agents", text), { code: "USAGE", message: /^--agents/ });
    });
  }
});
