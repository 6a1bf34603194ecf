/** Missing returns: every minion that does not answer is shown with Salt's text and timing, and with the reason. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Operator } from "../../interop/operator.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "../../interop/test-bed.ts";

const startTimeoutMs = 120_000;
const pollMs = 500;
const lateTimeoutMs = 90_000;

type Shown = { readonly State: string; readonly Reason?: string };
type Status = {
  readonly Over: boolean;
  readonly Counts: Record<string, number>;
  readonly Minions: Record<string, Shown>;
};

describe("minions that do not return", () => {
  const bed = new TestBed();
  const minions = new Map<string, MinionUnderTest>();
  let master: MasterUnderTest;
  let operator: Operator;
  let jid = "";

  const programOf = (id: string) => minions.get(id)?.program ?? assert.fail(id);

  async function status(): Promise<Status> {
    const shown = (await operator.json("run", ["jobs.status", jid])) as Record<string, Status>;
    return shown[jid] ?? assert.fail("the job is known");
  }

  async function answering(ids: readonly string[]): Promise<boolean> {
    const returned = (await operator.json("salt", ["--static", "-t", "2", "*", "test.ping"])) ?? {};
    return ids.every((id) => (returned as Record<string, unknown>)[id] === true);
  }

  async function untilAnswering(ids: readonly string[]): Promise<void> {
    const deadlineMs = performance.now() + startTimeoutMs;
    while (!(await answering(ids))) assert.ok(performance.now() < deadlineMs, "the minions do not answer");
  }

  before(async () => {
    master = await MasterUnderTest.create(bed, "ours", { auto_accept: true, gather_job_timeout: 4, timeout: 3 });
    await master.start();
    operator = new Operator("ours", master);
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const pem = publicKey.export({ type: "spki", format: "pem" });
    writeFileSync(join(master.pkiDir, "minions_rejected", "refused"), pem);
    writeFileSync(join(master.pkiDir, "minions", "ghost"), pem);
    for (const id of ["up", "before", "middle", "late"]) minions.set(id, new MinionUnderTest(master, "ours", id));
    await untilAnswering([...minions.keys()]);
    await programOf("before").kill();
    // A minion that this master has not heard of.
    await master.restart();
    await untilAnswering(["up", "middle", "late"]);
  });
  after(() => bed.close());

  bed.it("are shown when the last round of find_job is over, with the reason for each", async () => {
    const [late, middle] = [programOf("late").pid, programOf("middle").pid];
    process.kill(late, "SIGSTOP");
    const startedMs = performance.now();
    // Still running when it is asked after 3 s, also where the answer takes some seconds on a busy machine.
    const words = ["-v", "-L", "up,before,middle,late,refused,ghost,nobody", "test.sleep", "6.5"];
    const watch = await bed.watchEvents(master.sockDir);
    const running = operator.run("salt", words);
    await watch.until("the job", ({ tag }) => /^salt\/job\/\d+\/publish$/.test(tag), startTimeoutMs);
    await wait(1_000);
    process.kill(middle, "SIGSTOP");
    const { stdout, stderr, code } = await running;
    const tookSeconds = (performance.now() - startedMs) / 1_000;
    const text = stdout.toString();
    jid = /Executing job with jid (\d+)/.exec(text)?.[1] ?? "";
    assert.equal(code, 1);
    // Rounds at 3 s and at 7 s, because one minion still ran in the first, and the end of the second round.
    assert.ok(tookSeconds >= 11, `given up after ${tookSeconds} s`);
    assert.match(text, /^up:\n {4}True$/m);
    for (const id of ["before", "middle", "late", "refused", "ghost", "nobody"])
      assert.match(text, new RegExp(`^${id}:\\n {4}Minion did not return. \\[No response\\]$`, "m"));
    const reasons = new Map(
      [...stderr.matchAll(/^(\S+) did not return: (.*)$/gm)].map(([, id, reason]) => [id, reason]),
    );
    assert.match(reasons.get("before") ?? "", /^not connected, not heard since the master started \S+/);
    assert.match(reasons.get("middle") ?? "", /^connected, last heard .+ ago, but silent: find_job was not answered$/);
    assert.match(reasons.get("late") ?? "", /^connected, last heard .+ ago, but silent: find_job was not answered$/);
    assert.equal(reasons.get("ghost"), "never seen: nothing was heard since its key was accepted");
    assert.equal(reasons.get("refused"), "key not accepted (rejected)");
    assert.equal(reasons.get("nobody"), "never seen: no key of that name");
    assert.equal(reasons.has("up"), false);
  });

  bed.it("are told by jobs.status afterwards, each in its state", async () => {
    const { Over, Counts, Minions } = await status();
    assert.equal(Over, true);
    assert.deepEqual(Counts, { targeted: 0, sent: 0, running: 0, returned: 1, failed: 0, lost: 4 });
    const states = Object.fromEntries(Object.entries(Minions).map(([id, { State }]) => [id, State]));
    const lost = { before: "lost", middle: "lost", late: "lost", ghost: "lost" };
    assert.deepEqual(states, { up: "returned", ...lost, refused: "unknown", nobody: "unknown" });
    assert.equal(Minions.refused?.Reason, "key not accepted (rejected)");
    const chosen = (await operator.json("run", ["jobs.status", jid, "minion=l*", "state=lost"])) as Record<
      string,
      Status
    >;
    assert.deepEqual(Object.keys(chosen[jid]?.Minions ?? {}), ["late"]);
  });

  bed.it("count as returned late when they come after all", async () => {
    process.kill(programOf("late").pid, "SIGCONT");
    const deadlineMs = performance.now() + lateTimeoutMs;
    for (;;) {
      const { State, Reason } = (await status()).Minions.late ?? {};
      if (State === "returned") {
        assert.match(Reason ?? "", /^returned late, .+ after the job was sent$/);
        return;
      }
      assert.ok(performance.now() < deadlineMs, `still ${State}`);
      await wait(pollMs);
    }
  });

  bed.it("and a function that fails is told from one that returned", async () => {
    const shown = await operator.run("salt", ["-v", "up", "test.nosuch"]);
    jid = /jid (\d+)/.exec(shown.stdout.toString())?.[1] ?? "";
    assert.equal((await status()).Minions.up?.State, "failed");
  });
});
