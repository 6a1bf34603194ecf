import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPasswordOf } from "../../src/crypto/password-hash.ts";

const long =
  "a very long password that goes beyond sixty-four bytes, because that is where blocks of digests begin anew";

/** Made by `openssl passwd`; the last by Apache's documentation. */
const hashes: readonly (readonly [password: string, hash: string])[] = [
  ["pä$$ word", "$1$abcdefgh$jr5DM/zPLY2.f14uo/NFS0"],
  ["pä$$ word", "$apr1$abcdefgh$WY//EEVIXwWsRSP7E7Rvl0"],
  ["pä$$ word", "$5$abcdefgh$t7lKblJxDWsqMDep4a8cL4ztKNCWF1mO7kud.969FH2"],
  ["pä$$ word", "$6$abcdefgh$rH56b8LAQfkeiNZkApeD8cWfNlZobUIudZpZ2psFKNe1RfiXEGQOXg6u64xtLxcvso320yTBD0YaPcm238VG8."],
  [long, "$5$x$.WpTyyt8rN8U5W/TgUCoX4H/k5M1cJbvtE2os05fep7"],
  [long, "$1$x$BUFXduq/ZWWiRAedaIc4C/"],
  ["hm", "$6$rounds=1234$abc$DGwqr7sTefkafxULQAk9iOo5sLGwCcdoeo3itf9D4LKS9ydkOFz3Ex8oeaDJb4lznCZHZiwFjLoQCmV9BNxfc."],
  ["hm", "$5$rounds=2000$abc$d7DAoXisjGPq9QkhpRkRgmBtzcHILGPZFlIWXnMCJT3"],
  ["myPassword", "{SHA}VBPuJHI7uixaa6LQGWx4s+5GKNE="],
];

describe("hashes of passwords", () => {
  for (const [password, hash] of hashes) {
    it(`of the form ${hash.slice(0, 8)} know their password and no other`, () => {
      assert.equal(isPasswordOf(hash, password), true);
      assert.equal(isPasswordOf(hash, `${password} `), false);
      assert.equal(isPasswordOf(hash, ""), false);
    });
  }

  it("of unknown forms, or that would take for ever, are reported", () => {
    for (const hash of ["$2y$05$abcdefghijklmnopqrstuu", "plain", "", "rl.3StKT.4T8M", "$6$rounds=999999999$abc$x"])
      assert.equal(isPasswordOf(hash, "plain"), undefined);
  });
});
