import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { credentialChecksMax, credentialChecksWaitingMax, refusedCredentialMs } from "../../src/limits.ts";
import { CredentialChecks } from "../../src/master/credential-checks.ts";

const task = { eauth: "file", username: "ann", password: "hidden-word" };
const authentic = { isAuthentic: true, groups: [] };

/** Answers when it is told to. */
function open(run: () => Promise<unknown>) {
  const logged: string[] = [];
  const log = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  const waits: number[] = [];
  const checks = new CredentialChecks({
    lane: { run: run as never },
    logger: { warn: log, error: log } as never,
    wait: async (ms) => waits.push(ms),
  });
  return { checks, logged, waits };
}

describe("checks of credentials", () => {
  it("are so many at once, so many wait, and the rest is refused unasked", async () => {
    const answers: ((result: unknown) => void)[] = [];
    const { checks, logged } = open(() => new Promise((resolve) => answers.push(resolve)));
    const accepted = credentialChecksMax + credentialChecksWaitingMax;
    const asked = Array.from({ length: accepted }, () => checks.check(task));
    assert.equal(await checks.check(task), undefined);
    assert.equal(checks.counters.dropped, 1);
    assert.equal(answers.length, credentialChecksMax);
    let answered = 0;
    while (answered < accepted) {
      answers[answered]?.(authentic);
      answered += 1;
      await Promise.race([asked[answered - 1], new Promise((resolve) => setImmediate(resolve))]);
    }
    assert.deepEqual(await Promise.all(asked), Array(accepted).fill(authentic));
    const next = checks.check(task);
    answers.at(-1)?.(authentic);
    assert.equal(await next, authentic, "there is room again");
    assert.ok(!logged.join().includes(task.password));
  });

  it("take their time to refuse, and tell the log why a backend could not be asked", async () => {
    for (const [run, words] of [
      [async () => ({ isAuthentic: false, groups: [] }), /Authentication failure/],
      [async () => ({ isAuthentic: false, groups: [], fault: "no such file" }), /no such file/],
      [() => Promise.reject(new Error("the lane is gone")), /the lane is gone/],
    ] as const) {
      const { checks, logged, waits } = open(run);
      assert.equal(await checks.check(task), undefined);
      assert.match(logged.join(), words);
      assert.ok(!logged.join().includes(task.password));
      const [waited = 0] = waits;
      assert.ok(waited > 0 && waited <= refusedCredentialMs.max);
    }
  });
});
