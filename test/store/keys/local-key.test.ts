/** The local user's secret. */
import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ensureLocalKey } from "../../../src/store/keys/local-key.ts";
import { temporaryDirectories } from "../temporary.ts";

describe("ensureLocalKey", () => {
  const temporary = temporaryDirectories();

  it("makes a secret 0600 and keeps it over restarts", () => {
    const cachedir = join(temporary(), "cache");
    const key = ensureLocalKey(cachedir, "root");
    assert.match(key, /^[A-Za-z0-9+/=]{76}$/);
    assert.equal(statSync(join(cachedir, ".root_key")).mode & 0o777, 0o600);
    assert.equal(ensureLocalKey(cachedir, "root"), key);
    assert.notEqual(ensureLocalKey(cachedir, "other"), key);
  });

  it("takes what a Salt master left, and refuses an empty file that anyone could prove", () => {
    const cachedir = temporary();
    writeFileSync(join(cachedir, ".root_key"), "from salt");
    assert.equal(ensureLocalKey(cachedir, "root"), "from salt");
    writeFileSync(join(cachedir, ".root_key"), "");
    assert.throws(() => ensureLocalKey(cachedir, "root"), { code: "STORE_FAILED" });
  });
});
