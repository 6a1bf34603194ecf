/** What a session's key holds in memory while nothing is sealed. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Crypticle, generateKeyString } from "../../src/crypto/crypticle.ts";

describe("Crypticles of many sessions", () => {
  it("hold their keys and not the shared buffers around them", () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    // The buffers that one collection found are freed beside it, and by the next one at the latest.
    const collectGarbage = () => {
      collect();
      collect();
    };
    const sessions = 2_000;
    collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    const kept = Array.from({ length: sessions }, () => {
      const crypticle = new Crypticle(generateKeyString());
      // As between two sign-ins: other small buffers come and go.
      Buffer.from("x".repeat(2_000));
      return crypticle;
    });
    collectGarbage();
    const grownBytes = process.memoryUsage().arrayBuffers - before;
    assert.equal(kept.length, sessions);
    assert.ok(grownBytes < sessions * 256, `${grownBytes / sessions} bytes a session`);
  });
});
