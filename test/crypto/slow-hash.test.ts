import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkSlowHash } from "../../src/crypto/slow-hash.ts";
import { argon2MemoryKibMax, argon2WorkKibMax, bcryptCostMax } from "../../src/limits.ts";

const password = "pä$$ word";
const long = "a very long password that goes beyond seventy-two bytes, because bcrypt reads no more of it";

/** Made by libxcrypt 4.4 and by the program argon2 of Debian 12. */
const hashes: readonly (readonly [password: string, hash: string])[] = [
  [password, "$2y$05$abcdefghijklmnopqrstuuZrr8YzKjHH5R07jyanXlkaGVn8UVijC"],
  ["hm", "$2b$04$......................MqtUv8gssZYLuwgTx4w/Am/9mG7Ijaq"],
  [long, "$2a$06$abcdefghijklmnopqrstuuVZ/hYZbnsaglR/BI7HpkD7bCTT6F9lC"],
  [password, "$argon2id$v=19$m=4096,t=3,p=4$c2FsdHNhbHQ$jDKpfwZOVC76kq22owpvBQXv7Zhl25E6X3soOUpGSuM"],
  [password, "$argon2id$v=19$m=1024,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$/rRC0wjgBVt0wlYU8VrpEzoWCTzjbBf2"],
];

describe("slow hashes of passwords", () => {
  for (const [right, hash] of hashes) {
    it(`of the form ${hash.slice(0, 30)} know their password and no other`, async () => {
      assert.equal(await checkSlowHash(hash, right), true);
      assert.equal(await checkSlowHash(hash, `x${right}`), false);
      assert.equal(await checkSlowHash(hash, ""), false);
    });
  }

  it("that would cost more than the bounds are refused by name, at once", async () => {
    const bcrypt = (cost: number) => `$2b$${String(cost).padStart(2, "0")}$${".".repeat(53)}`;
    const argon2id = (memory: number, passes: number) => `$argon2id$v=19$m=${memory},t=${passes},p=1$c2FsdHNhbHQ$AAAA`;
    for (const [hash, reason] of [
      [bcrypt(bcryptCostMax + 1), /cost 15, more than 14/],
      [bcrypt(31), /cost 31/],
      [bcrypt(3), /malformed/],
      ["$2b$xx$", /malformed/],
      [argon2id(argon2MemoryKibMax + 1, 1), /KiB of memory/],
      [argon2id(4_294_967_295, 4_294_967_295), /KiB of memory/],
      [argon2id(65_536, argon2WorkKibMax / 65_536 + 1), /in all passes/],
      [argon2id(1_024, 4_294_967_295), /in all passes/],
      [argon2id(1_024, 0), /malformed/],
      [argon2id(1_024, 1).replace("v=19", "v=16"), /version/],
      [`${argon2id(1_024, 1)}${"A".repeat(128)}`, /malformed/],
    ] as const) {
      const result = await checkSlowHash(hash, password);
      assert.ok(typeof result === "object", hash);
      assert.match(result.refused, reason, hash);
    }
  });

  it("of other forms are left to others", () => {
    for (const hash of ["", "plain", "$2$05$x", "$2x$05$x", "$argon2i$v=19$m=8,t=1,p=1$a$b", "$1$x$y"])
      assert.equal(checkSlowHash(hash, password), undefined, hash);
  });
});
