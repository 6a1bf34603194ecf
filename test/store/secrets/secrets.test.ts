/** Master secrets after restarts, after crashes and with another master key; sessions taken over from Salt. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { generateKeyString } from "../../../src/crypto/crypticle.ts";
import { serialBlockCount } from "../../../src/limits.ts";
import { openSecretBox } from "../../../src/store/secrets/sealed.ts";
import { openMasterSecrets, rotateSecrets, takeOverSessions } from "../../../src/store/secrets/secrets.ts";
import { temporaryDirectories } from "../temporary.ts";
import { newKey } from "./new-key.ts";

describe("master secrets", () => {
  const temporary = temporaryDirectories();
  const key = newKey();
  const open = (directory: string, masterKey = key) =>
    openMasterSecrets({ file: join(directory, "secrets"), box: openSecretBox(masterKey, join(directory, "salt")) });

  it("survive a restart: key, former key and serial; the file is 0600 and holds no key in clear", async () => {
    const directory = temporary();
    const first = open(directory);
    assert.deepEqual([first.isFresh, first.freshReason], [true, "first-start"]);
    const oldKey = first.aes;
    await rotateSecrets(first, 1_000_000, 3_600_000);
    assert.equal(first.nextSerial(), 1);
    first.close();
    const second = open(directory);
    assert.deepEqual([second.isFresh, second.aes, second.createdMs], [false, first.aes, 1_000_000]);
    assert.deepEqual(second.former, { key: oldKey, untilMs: 4_600_000 });
    assert.equal(second.nextSerial(), 2);
    const file = join(directory, "secrets");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(readFileSync(file).includes(second.aes), false);
  });

  it("never give a serial twice, though the process dies at any moment", () => {
    const directory = temporary();
    let last = 0;
    for (const used of [1, serialBlockCount - 1, serialBlockCount, serialBlockCount + 1, 0, 3]) {
      const secrets = open(directory);
      for (let count = 0; count < used; count += 1) {
        const serial = secrets.nextSerial();
        assert.ok(serial > last, `${serial} after ${last}`);
        last = serial;
      }
      // No close: the process was killed.
    }
    assert.ok(last < 10 * serialBlockCount, "a crash skips at most one block");
  });

  it("start serials anew under a new key", async () => {
    const secrets = open(temporary());
    const before = secrets.aes;
    secrets.nextSerial();
    await rotateSecrets(secrets, Date.now(), 0);
    assert.notEqual(secrets.aes, before);
    assert.equal(secrets.nextSerial(), 1);
    assert.match(secrets.aes, /^[A-Za-z0-9+/=]{76}$/);
  });

  it("go on above the serials that a cluster gave, also after a crash", () => {
    const directory = temporary();
    const member = open(directory);
    for (const serial of [5_000_000, 5_000_001, 4_000_000]) member.noteSerial(serial);
    assert.equal(member.nextSerial(), 5_000_002);
    member.noteSerial(5_000_000 + 2 * serialBlockCount);
    // No close: the process was killed.
    assert.ok(open(directory).nextSerial() > 5_000_000 + 2 * serialBlockCount);
  });

  it("start afresh under another master key, and say so once", () => {
    const directory = temporary();
    const { aes } = open(directory);
    const other = newKey();
    const moved = open(directory, other);
    assert.deepEqual([moved.freshReason, moved.aes === aes], ["other-master-key", false]);
    const again = open(directory, other);
    assert.deepEqual([again.isFresh, again.aes], [false, moved.aes]);
  });

  it("leave the file on disk whole when writing fails", async () => {
    const directory = temporary();
    const secrets = open(directory);
    const before = secrets.aes;
    mkdirSync(join(directory, "gone"));
    const lost = openMasterSecrets({
      file: join(directory, "gone", "secrets"),
      box: openSecretBox(key, join(directory, "salt")),
    });
    const kept = lost.aes;
    rmSync(join(directory, "gone"), { recursive: true });
    await assert.rejects(rotateSecrets(lost, Date.now(), 0), { code: "STORE_FAILED" });
    assert.equal(lost.aes, kept, "a key that could not be stored is not used");
    assert.equal(open(directory).aes, before);
  });
});

describe("takeOverSessions", () => {
  const temporary = temporaryDirectories();

  it("hands on each session of a Salt master once, with its age", async () => {
    const cachedir = temporary();
    mkdirSync(join(cachedir, "sessions"));
    const keys = new Map([
      ["web1", generateKeyString()],
      ["web2", generateKeyString()],
    ]);
    for (const [id, text] of keys) writeFileSync(join(cachedir, "sessions", id), text);
    writeFileSync(join(cachedir, "sessions", "broken"), "not a key");
    mkdirSync(join(cachedir, "sessions", "folder"));
    utimesSync(join(cachedir, "sessions", "web1"), 1_000, 1_000);
    const found = new Map<string, string>();
    const put = async (session: { id: string; keyString: string; createdMs: number }) => {
      found.set(session.id, session.keyString);
      if (session.id === "web1") assert.equal(session.createdMs, 1_000_000);
    };
    assert.equal(await takeOverSessions(cachedir, put), 2);
    assert.deepEqual(found, keys);
    assert.equal(await takeOverSessions(cachedir, put), 0);
    assert.ok(existsSync(join(cachedir, "sessions", "web1")), "one can go back to Salt");
  });

  it("does nothing where there never was a Salt master", async () => {
    assert.equal(await takeOverSessions(temporary(), () => Promise.reject(new Error("nothing to put"))), 0);
  });
});
