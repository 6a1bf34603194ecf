import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readSender } from "../../src/client/credentials.ts";
import type { MasterConfig } from "../../src/config/load.ts";

const cachedir = mkdtempSync(join(tmpdir(), "sw-credentials-"));
after(() => rmSync(cachedir, { recursive: true }));
const config = { cachedir, user: "root" } as MasterConfig;

describe("the API process", () => {
  it("names the address of an HTTP client with its own key, and never with the key of the master's user", async () => {
    writeFileSync(join(cachedir, ".root_key"), "root-secret");
    await assert.rejects(readSender(config, "192.0.2.7"), { code: "AUTH_FAILED" });
    writeFileSync(join(cachedir, ".:api_key"), "api-secret");
    const sender = { user: ":api", key: "api-secret", client_address: "192.0.2.7" };
    assert.deepEqual(await readSender(config, "192.0.2.7"), sender);
  });
});
