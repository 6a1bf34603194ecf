/** Some thousand changed sessions of ZMTP; `npm run test:soak -- SECONDS session-fuzz` sends them for a given time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { randomFrom, seedFromClock } from "../wire/random.ts";
import { fuzzSessions } from "./session-fuzz.ts";

const sessionsMax = 2_000;
const timeout = 120_000;

describe("a request port under sessions whose bytes were changed", () => {
  it("answers an honest client each time, and keeps nothing of the others", { timeout }, async (test) => {
    const seed = seedFromClock();
    test.diagnostic(`seed ${seed}`);
    const { sessions, answers, closed } = await fuzzSessions(randomFrom(seed), (count) => count < sessionsMax);
    test.diagnostic(`${sessions} sessions, ${answers} honest answers, closed: ${JSON.stringify(closed)}`);
    assert.ok(answers > 0 && (closed.malformed ?? 0) > 0 && (closed.parts ?? 0) > 0);
  });
});
