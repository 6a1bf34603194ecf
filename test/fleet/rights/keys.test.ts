/** The simulated fleet's RSA keys: different for every minion, full-sized, and the same for the same cache. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { requestToken } from "../../../bench/fleet/handshake.ts";
import { loadPrimes, minionKey } from "../../../bench/fleet/keys.ts";
import { loadPublicKey } from "../../../src/crypto/pem.ts";
import { recoverX931 } from "../../../src/crypto/x931.ts";

const keyCount = 15;

describe("keys of simulated minions", () => {
  let directory: string;
  let primes: string[];
  before(async () => {
    directory = mkdtempSync(join(tmpdir(), "sw-keys-"));
    primes = await loadPrimes(directory, keyCount);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  it("are pairs of 2,048 bits that sign and verify, no two alike", () => {
    const keys = Array.from({ length: keyCount }, (_, index) => minionKey(primes, index));
    assert.equal(new Set(keys.map((key) => key.publicPem)).size, keyCount);
    for (const key of keys) {
      assert.equal(createPublicKey(key.privateKey).asymmetricKeyDetails?.modulusLength, 2_048);
      const message = recoverX931(loadPublicKey(key.publicPem), requestToken(key));
      assert.equal(message.toString("latin1"), "salt");
    }
  });

  it("are the same again from the cache, which only its owner can read", async () => {
    assert.deepEqual(await loadPrimes(directory, keyCount), primes);
    assert.equal(statSync(join(directory, "primes-1024.json")).mode & 0o777, 0o600);
  });

  it("stay the same when the cache grows", async () => {
    const before = minionKey(primes, keyCount - 1).publicPem;
    const more = await loadPrimes(directory, keyCount + 1);
    assert.equal(more.length, primes.length + 1);
    assert.equal(minionKey(more, keyCount - 1).publicPem, before);
  });
});
