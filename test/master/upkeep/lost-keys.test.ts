/** Sessions whose keys were removed while no master ran end. Keys that cannot be read must not end a session. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { dropSessionsOfLostKeys } from "../../../src/master/upkeep/lost-keys.ts";
import { openKeyDirectories } from "../../../src/store/keys/keys.ts";
import { openSecretBox } from "../../../src/store/secrets/sealed.ts";
import { sealSession, sessionKeyName } from "../../../src/workers/state/session-record.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const { privateKey: privatePem } = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" },
});
const pemOf = (name: string) => `-----BEGIN PUBLIC KEY-----\n${name}\n-----END PUBLIC KEY-----\n`;

describe("sessions at the start", () => {
  const temporary = temporaryDirectories();

  /** Minions a, b and c have sessions under keys of their names. */
  function openStores() {
    const pkiDir = temporary();
    const folder = join(pkiDir, "minions");
    mkdirSync(folder);
    for (const id of ["a", "b", "c"]) writeFileSync(join(folder, id), pemOf(id));
    const box = openSecretBox(privatePem, join(pkiDir, ".seal-salt"));
    const sealed = new Map(
      ["a", "b", "c"].map((id) => {
        const record = { keyString: "k", createdMs: 1, minionKey: sessionKeyName(pemOf(id)) };
        return [id, sealSession(box, id, record)] as const;
      }),
    );
    const minions = {
      sessionIds: () => [...sealed.keys()],
      getSession: (id: string) => sealed.get(id),
      dropSession: async (id: string) => void sealed.delete(id),
    };
    const warned: string[] = [];
    const logger = { warn: (...words: unknown[]) => void warned.push(JSON.stringify(words)) } as never;
    const told: string[][] = [];
    const drop = (onLost = async (ids: readonly string[]) => void told.push([...ids])) =>
      dropSessionsOfLostKeys({ minions, keys: openKeyDirectories(pkiDir), box, logger, onLost });
    return { folder, sealed, warned, told, drop };
  }

  it("end if the key was removed or replaced", async () => {
    const { folder, sealed, warned, told, drop } = openStores();
    rmSync(join(folder, "a"));
    writeFileSync(join(folder, "b"), pemOf("other"));
    assert.deepEqual(await drop(), ["a", "b"]);
    assert.deepEqual([...sealed.keys()], ["c"]);
    assert.deepEqual(warned, []);
    assert.deepEqual(told, [["a", "b"]]);
  });

  it("end only after the AES key that they know was changed, so that a start that fails there finds them again", async () => {
    const { folder, sealed, told, drop } = openStores();
    rmSync(join(folder, "a"));
    await assert.rejects(
      drop(async () => {
        throw new Error("no room");
      }),
      /no room/,
    );
    assert.equal(sealed.size, 3);
    assert.deepEqual(await drop(), ["a"]);
    assert.deepEqual(told, [["a"]]);
  });

  it("are kept where a key file cannot be read, which a warning names, and the others are looked at", async () => {
    const { folder, sealed, warned, drop } = openStores();
    rmSync(join(folder, "a"));
    rmSync(join(folder, "b"));
    // A link to itself, which even root cannot read.
    symlinkSync("b", join(folder, "b"));
    assert.deepEqual(await drop(), ["a"]);
    assert.deepEqual([...sealed.keys()], ["b", "c"]);
    assert.equal(warned.length, 1);
    assert.ok(warned[0]?.includes(`${join(folder, "b")} cannot be read (ELOOP)`), warned[0]);
  });

  it("are kept where no accepted key is there at all, as on a directory that is mounted later", async () => {
    for (const isFolderGone of [false, true]) {
      const { folder, sealed, warned, drop } = openStores();
      rmSync(folder, { recursive: true });
      if (!isFolderGone) mkdirSync(folder);
      assert.deepEqual(await drop(), []);
      assert.equal(sealed.size, 3);
      assert.match(warned.join(), /"sessions":3/);
    }
  });
});
