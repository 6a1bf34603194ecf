import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  credentialChecksMax,
  credentialChecksWaitingMax,
  guessesOfPairMax,
  refusedCredentialMs,
} from "../../../src/limits.ts";
import { CredentialChecks } from "../../../src/master/operators/credential-checks.ts";

const task = { eauth: "file", username: "ann", password: "hidden-word" };
const authentic = { isAuthentic: true, groups: [] };

/** A backend that answers when the test tells it to. */
function open(run: () => Promise<unknown>) {
  const logged: string[] = [];
  const log = (...words: unknown[]) => void logged.push(JSON.stringify(words));
  const waits: number[] = [];
  const checks = new CredentialChecks({
    backends: ["file", "pam"],
    lane: { run: run as never },
    logger: { warn: log, error: log } as never,
    wait: async (ms) => waits.push(ms),
  });
  return { checks, logged, waits };
}

describe("checks of credentials", () => {
  it("run up to a bound at once, wait up to another, and are refused unasked beyond it", async () => {
    const answers: ((result: unknown) => void)[] = [];
    const { checks, logged } = open(() => new Promise((resolve) => answers.push(resolve)));
    const accepted = credentialChecksMax + credentialChecksWaitingMax;
    const asked = Array.from({ length: accepted }, () => checks.check(task));
    assert.equal(await checks.check(task), undefined);
    assert.equal(checks.counters.get("file")?.dropped, 1);
    assert.equal(answers.length, credentialChecksMax);
    assert.deepEqual([checks.runningCount, checks.waitingCount], [credentialChecksMax, credentialChecksWaitingMax]);
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
    assert.deepEqual([checks.runningCount, checks.waitingCount], [0, 0]);
    assert.ok(!logged.join().includes(task.password));
  });

  it("take turns by address and user: a flood of wrong passwords from one address leaves others their turn", async () => {
    const answers: ((result: unknown) => void)[] = [];
    const { checks } = open(() => new Promise((resolve) => answers.push(resolve)));
    const flood = Array.from({ length: credentialChecksMax + credentialChecksWaitingMax }, (_, index) =>
      checks.check({ ...task, username: `guess${index}` }, "192.0.2.1"),
    );
    const honest = checks.check(task, "198.51.100.7");
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(checks.counters.get("file")?.dropped, 1, "one of the flood went for it");
    assert.equal(checks.waitingCount, credentialChecksWaitingMax);
    // Two turns: one of the flood, one of the other address.
    answers[0]?.(authentic);
    answers[1]?.(authentic);
    while (answers.length < credentialChecksMax + 2) await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers.slice(credentialChecksMax)) answer(authentic);
    assert.equal(await honest, authentic);
    for (let answered = 0; answered < answers.length; answered += 1) {
      answers[answered]?.(authentic);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const results = await Promise.all(flood);
    assert.equal(results.filter((result) => result === undefined).length, 1);
  });

  it("take the addresses of one site of IPv6 for one address", async () => {
    const answers: ((result: unknown) => void)[] = [];
    const { checks } = open(() => new Promise((resolve) => answers.push(resolve)));
    const flood = Array.from({ length: credentialChecksMax + credentialChecksWaitingMax }, (_, index) =>
      checks.check({ ...task, username: `guess${index}` }, `2001:db8:0:1::${index.toString(16)}`),
    );
    const honest = checks.check(task, "2001:db8:0:2::1");
    // Two turns: one of the flood, one of the other site.
    for (const answer of answers.slice(0, 2)) answer(authentic);
    while (answers.length < credentialChecksMax + 2) await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers.slice(credentialChecksMax)) answer(authentic);
    assert.equal(await honest, authentic);
    for (let answered = 0; answered < answers.length; answered += 1) {
      answers[answered]?.(authentic);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(flood);
  });

  it("bound the guesses in the time of a refusal, because each keeps its place until it is answered", async () => {
    const holds: { ms: number; end: () => void }[] = [];
    let asked = 0;
    const checks = new CredentialChecks({
      backends: ["file"],
      lane: {
        run: (async () => {
          asked += 1;
          return { isAuthentic: false, groups: [] };
        }) as never,
      },
      logger: { warn: () => undefined, error: () => undefined } as never,
      wait: (ms) => new Promise<void>((end) => holds.push({ ms, end })),
    });
    const startedMs = performance.now();
    const guesses = Array.from({ length: credentialChecksMax * 2 }, (_, index) =>
      checks.check({ ...task, username: `guess${index}` }),
    );
    while (holds.length < credentialChecksMax) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(asked, credentialChecksMax, "no backend is asked while credentialChecksMax refusals wait");
    const spentMs = performance.now() - startedMs;
    for (const { ms } of holds) assert.ok(ms + spentMs >= refusedCredentialMs.min, `${ms}`);
    while (holds.length > 0) {
      holds.shift()?.end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(guesses);
    assert.equal(asked, guesses.length);
  });

  it("are refused unchecked and at once after guessesOfPairMax wrong ones, for this user at this address alone", async () => {
    let asked = 0;
    const { checks, waits } = open(async () => {
      asked += 1;
      return { isAuthentic: false, groups: [] };
    });
    // All at once: waiting logins are refused when their turn comes.
    const flood = Array.from({ length: 250 }, () => checks.check(task, "192.0.2.1"));
    await Promise.all(flood);
    assert.ok(asked < guessesOfPairMax.atFirst + credentialChecksMax, `${asked}`);
    assert.equal(checks.guessesRefused.guessesOfPairMax, 250 - asked);
    assert.equal(checks.counters.get("file")?.bounded, 250 - asked);
    assert.equal(waits.length, asked, "a login that is not checked takes no time");
    const before = asked;
    await checks.check({ ...task, username: "bob" }, "192.0.2.1");
    await checks.check(task, "198.51.100.7");
    await checks.check({ ...task, eauth: "pam" }, "192.0.2.1");
    assert.equal(asked, before + 3);
  });

  it("are counted by backend and outcome with their times, and not by names that callers make up", async () => {
    const results: unknown[] = [
      authentic,
      { isAuthentic: false, groups: [] },
      { isAuthentic: false, groups: [], fault: "x" },
    ];
    const { checks } = open(async () => results.shift());
    for (const eauth of ["file", "pam", "pam"]) await checks.check({ ...task, eauth });
    assert.deepEqual(Object.fromEntries(checks.counters), {
      file: { authentic: 1, refused: 0, failed: 0, dropped: 0, bounded: 0 },
      pam: { authentic: 0, refused: 1, failed: 1, dropped: 0, bounded: 0 },
    });
    for (const { counts } of [checks.times.wait, checks.times.check])
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        3,
      );
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
