import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Crypticle, generateKeyString } from "../../src/crypto/crypticle.ts";

const nonce = "0123456789abcdef0123456789abcdef";

describe("Crypticle.sealInSteps", () => {
  it("seals the same bytes as at once, and pauses in large values", async () => {
    const crypticle = new Crypticle(generateKeyString());
    for (const bytes of [1, 100_000, 1_000_001]) {
      let pauses = 0;
      const packed = Buffer.alloc(bytes, 7);
      const sealed = await crypticle.sealInSteps(packed, nonce, async () => {
        pauses += 1;
      });
      assert.ok(packed.equals(crypticle.open(sealed, nonce)));
      assert.equal(pauses > 1, bytes > 128 * 1024);
    }
  });

  it("is not disturbed by seals in between", async () => {
    const crypticle = new Crypticle(generateKeyString());
    const packed = Buffer.alloc(500_000, 7);
    const between: Buffer[] = [];
    const sealed = await crypticle.sealInSteps(packed, nonce, async () => {
      between.push(crypticle.seal(Buffer.from([1]), nonce));
    });
    assert.ok(packed.equals(crypticle.open(sealed, nonce)));
    for (const token of between) assert.deepEqual([...crypticle.open(token, nonce)], [1]);
  });
});
