/** Salt's own minions that are absent when a job is published get it from our master when they come back, and run it once. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { Operator } from "./operator.ts";
import { openReleases } from "./salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const startTimeoutMs = 180_000;
const deliveryTimeoutMs = 180_000;
const pollMs = 500;

describe("a job that waits for minions of Salt", { skip: releases.skip }, () => {
  const stock = releases.all.filter(({ name }) => name === "3006" || name === "3007");
  const ids = stock.map(({ name }) => `stock${name}`);
  const bed = new TestBed();
  let master: MasterUnderTest;
  let operator: Operator;
  let minions: MinionUnderTest[] = [];
  let jid = "";

  const startMinions = () => stock.map((release, index) => new MinionUnderTest(master, release, ids[index] ?? ""));
  const runsOf = (id: string) => {
    const file = join(bed.folder, `runs-${id}`);
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean).length : 0;
  };
  const waiting = async () => {
    const { code, stdout, stderr } = await operator.run("run", ["--out=json", "jobs.pending"]);
    assert.equal(code, 0, stderr);
    const pending = JSON.parse(stdout.toString() || "{}") as Record<string, { Waiting: number } | undefined>;
    return pending[jid]?.Waiting ?? 0;
  };

  async function until(what: string, condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!(await condition())) {
      assert.ok(performance.now() < deadlineMs, what);
      await wait(pollMs);
    }
  }

  before(async () => {
    master = await MasterUnderTest.create(bed, "ours", { auto_accept: true });
    await master.start();
    operator = new Operator("ours", master);
    minions = startMinions();
    const answer = async () => {
      const { stdout } = await operator.run("salt", ["--static", "--out=txt", "-t", "2", "*", "test.ping"]);
      return ids.every((id) => stdout.toString().includes(`${id}: True`));
    };
    await until("the minions answer", answer, startTimeoutMs);
    for (const { program } of minions) await program.kill();
  });
  after(() => bed.close());

  bed.it("is told of with its deadline, while Salt's words for the silent ones stay", async () => {
    const words = ["-v", "-t", "1", "--gather-job-timeout", "1", "--deliver-within", "1h", "*", "cmd.run"];
    const script = `echo run >> ${bed.folder}/runs-{{ grains.id }}`;
    const shown = await operator.run("salt", [...words, script, "template=jinja"]);
    jid = /jid (\d{20})/.exec(shown.stdout.toString())?.[1] ?? "";
    for (const id of ids) {
      assert.match(shown.stdout.toString(), new RegExp(`^${id}:\\n {4}Minion did not return\\.`, "m"));
      assert.match(shown.stderr, new RegExp(`^${id} did not return: .*; the job waits for it until 20`, "m"));
    }
    assert.equal(await waiting(), ids.length);
  });

  bed.it("is run once by each when it comes back, although the master was killed meanwhile", async () => {
    await master.program.kill();
    await master.start();
    assert.equal(await waiting(), ids.length, "nothing was forgotten");
    minions = startMinions();
    await until("all have returned", async () => (await waiting()) === 0, deliveryTimeoutMs);
    const returned = (await operator.json("run", ["jobs.lookup_jid", jid])) as object;
    assert.deepEqual(Object.keys(returned).sort(), [...ids].sort());
    assert.deepEqual(
      ids.map(runsOf),
      ids.map(() => 1),
    );
  });
});
