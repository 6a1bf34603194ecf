import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nkeys } from "@nats-io/nats-core";
import { nkeyUser } from "../../../src/cluster/server/nkey-user.ts";
import { seededRandom } from "../../random.ts";

describe("the NATS user of a cluster", () => {
  it("is the one that NATS's own package for Go, nkeys 0.4.16, makes of the same 32 bytes", () => {
    const { publicKey, seed } = nkeyUser(
      Buffer.from("d9f28f48a7e289a37a07b1fce7e90eb45c72e80265771852a42da8badd7981ef", "hex"),
    );
    assert.equal(publicKey, "UDGZ4OOPZKGQTHIIS2NQGPQ3QK6ZN25EBLGOADSGFU6LE4C4HLSEKAYD");
    assert.equal(Buffer.from(seed).toString(), "SUANT4UPJCT6FCNDPID3D7HH5EHLIXDS5ABGK5YYKKSC3KF23V4YD33DCI");
  });

  it("signs with any 32 bytes what its public key verifies", () => {
    const random = seededRandom(5);
    const keys = Array.from({ length: 20 }, () => Buffer.from(Array.from({ length: 32 }, () => random(256))));
    for (const key of [Buffer.alloc(32), Buffer.alloc(32, 0xff), ...keys]) {
      const { publicKey, seed } = nkeyUser(key);
      const nonce = Buffer.from("nonce");
      assert.ok(nkeys.fromPublic(publicKey).verify(nonce, nkeys.fromSeed(seed).sign(nonce)));
      assert.match(publicKey, /^U[A-Z2-7]{55}$/);
    }
  });
});
