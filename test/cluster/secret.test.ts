import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deriveKeys, newClusterSecret } from "../../src/cluster/secret.ts";

const secret = "correct horse battery";

async function derivedHex(clusterSecret: string, clusterId: string): Promise<Record<string, string>> {
  const keys = Object.entries(await deriveKeys(clusterSecret, clusterId));
  return Object.fromEntries(keys.map(([name, key]) => [name, key.toString("hex")]));
}

/** Of `secret` in the cluster `prod`, by Python 3.11. */
const ofProd = {
  authoritySeed: "7f905d2cbf4b1aaeb9ce897edb5a92b3e24b9e37426e4c5aea8f2fbcdf7d8b35",
  clientSeed: "d9f28f48a7e289a37a07b1fce7e90eb45c72e80265771852a42da8badd7981ef",
  systemSeed: "35a8bd3425fd9659a1baa097e2be3fd344408e6dedf1cd0890a9b3dd4b76c401",
  sealKey: "0d7d392e887bb625e7f22d3419e302038c0a02b2be8311a08c19f74815ea9aa5",
  sessionKey: "7348ceab7084e0ff6239deef67d5a88db92844cc6ef2f8b5c4eae7a2c8dcfffd",
};

describe("the keys of a cluster", () => {
  it("are the ones that Python's hashlib.scrypt and hmac derive, so that members of all releases have the same", async () => {
    assert.deepEqual(await derivedHex(secret, "prod"), ofProd);
  });

  it("all differ from those of another secret, and from those of the same secret in another cluster", async () => {
    const others = [await derivedHex(`${secret}.`, "prod"), await derivedHex(secret, "test")];
    const keys = [ofProd, ...others].flatMap((derived) => Object.values(derived));
    assert.equal(new Set(keys).size, 15);
  });

  it("are refused for a secret of 15 characters, by the option's name, how to make one, and without the secret", async () => {
    const short = "fifteen symbols";
    await assert.rejects(deriveKeys(short, "prod"), (error: Error) => {
      assert.equal("code" in error && error.code, "CONFIG_INVALID");
      assert.match(error.message, /^cluster_secret: it has 15 characters, .* 16\. .*`saltworks cluster secret`/);
      assert.ok(!JSON.stringify([error.message, error]).includes(short));
      return true;
    });
    // Two of its characters are two UTF-16 units each.
    await assert.rejects(deriveKeys("twelve chars𝟙𝟚", "prod"), /it has 14 characters/);
    await deriveKeys("sixteen symbols!", "prod");
  });
});

describe("a new secret of a cluster", () => {
  it("is 32 random bytes that a configuration file takes unquoted", async () => {
    const secrets = Array.from({ length: 100 }, newClusterSecret);
    assert.equal(new Set(secrets).size, 100);
    for (const text of secrets) {
      assert.match(text, /^[A-Za-z0-9_-]{43}$/);
      assert.equal(Buffer.from(text, "base64url").length, 32);
    }
  });
});
