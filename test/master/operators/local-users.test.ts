import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { localKeysOf } from "../../../src/master/operators/local-users.ts";

const cachedir = mkdtempSync(join(tmpdir(), "sw-local-users-"));
after(() => rmSync(cachedir, { recursive: true }));
const { username } = userInfo();
const config = { cachedir, user: username, publisher_acl: {}, external_auth: {}, client_acl_verify: true };
const logger = { warn: (fault: unknown) => assert.fail(JSON.stringify(fault)) };
const keyFile = (name: string) => statSync(join(cachedir, `.${name}_key`), { throwIfNoEntry: false });

describe("local users", () => {
  it("have a key of their own where publisher_acl names them, and where they exist", () => {
    assert.deepEqual([...localKeysOf(config, logger).keys()], [username, ":api"]);
    const acl = { "daemo[n]": ["test.*"], nosuchuser: ["test.*"], "../up": ["test.*"] };
    const keys = localKeysOf({ ...config, publisher_acl: acl }, logger);
    assert.deepEqual([...keys.keys()].sort(), [username, ":api", "daemon"].sort());
    assert.notEqual(keys.get("daemon"), keys.get(username));
    const { mode = 0, uid } = keyFile("daemon") ?? {};
    assert.equal(mode & 0o777, 0o600);
    if (process.getuid?.() === 0) assert.notEqual(uid, 0, "it belongs to its user");
    assert.equal(keyFile("nosuchuser"), undefined);
    const unverified = localKeysOf({ ...config, publisher_acl: acl, client_acl_verify: false }, logger);
    assert.ok(unverified.has("nosuchuser") && !unverified.has("../up"));
  });

  it("may pass through the directory to their key", () => {
    chmodSync(cachedir, 0o700);
    localKeysOf(config, logger);
    assert.equal(statSync(cachedir).mode & 0o777, 0o700);
    localKeysOf({ ...config, external_auth: { file: {} } }, logger);
    assert.equal(statSync(cachedir).mode & 0o777, 0o701);
  });
});
