import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Sessions } from "../../src/api/sessions/sessions.ts";

const directory = mkdtempSync(join(tmpdir(), "sw-sessions-"));
after(() => rmSync(directory, { recursive: true }));

describe("the files of sessions", () => {
  it("that the system cannot read give an error of the store", () => {
    const session = { token: "t", user: "ann", eauth: "auto", start: 0, expire: 4_000_000_000, perms: [] };
    const id = new Sessions(directory).open(session);
    const [name = ""] = readdirSync(directory);
    rmSync(join(directory, name));
    mkdirSync(join(directory, name));
    assert.throws(() => new Sessions(directory).find(id), { code: "STORE_FAILED" });
  });
});
