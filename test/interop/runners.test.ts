import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { generateMinionKeys } from "../../src/store/keys/text.ts";
import { repositoryRoot } from "../root.ts";
import type { EventWatch } from "./event-watch.ts";
import { type Comparable, comparable } from "./golden/same-output.ts";
import { Operator } from "./operator.ts";
import { type Ended, runCommand } from "./program.ts";
import { openReleases } from "./salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;
const startTimeoutMs = 60_000;
const callsTimeoutMs = 120_000;
const minionId = "web1";

/** Words after `salt-run`: Salt's on Salt's master and ours on our master print the same bytes, each with a minion of Salt's. */
const commands: readonly (readonly string[])[] = [
  ["mine.update", "*"],
  ["mine.get", "*", "test.ping"],
  ["cache.mine", "*"],
  ["cache.fetch", `minions/${minionId}`, "mine"],
  ["cache.store", "own/bank", "key", "{a: [1, 2]}"],
  ["cache.fetch", "own/bank", "key"],
  ["cache.flush", "own/bank", "key"],
  ["manage.up"],
  ["manage.up", "tgt=nosuch*"],
  ["survey.diff", "*", "cmd.run", "echo one; echo two", "python_shell=True"],
  ["salt.cmd", "test.echo", "hello"],
  ["test.arg", "a", "1", "k={x: 1}"],
  ["test.stdout_print"],
  ["event.send", "my/tag", "{a: 1}"],
  ["pillar.show_pillar", minionId],
  ["pillar.show_top"],
  ["nosuch.fun"],
];

type Call = readonly [
  kind: "wheel" | "runner",
  name: string,
  args: readonly unknown[],
  kwargs: Readonly<Record<string, unknown>>,
];
/** Calls of Salt's `WheelClient` and `RunnerClient`. They change keys, in the same way on both masters. */
const calls: readonly Call[] = [
  ["wheel", "key.list_all", [], {}],
  ["wheel", "key.list", [], { match: "un" }],
  ["wheel", "key.name_match", [], { match: "app*" }],
  ["wheel", "key.finger", [], { match: "app1" }],
  ["wheel", "key.print", [], { match: "app1" }],
  ["wheel", "key.accept", [], { match: "app1" }],
  ["wheel", "key.accept_dict", [], { match: { minions_pre: ["app2"] } }],
  ["wheel", "key.reject", [], { match: "app*" }],
  ["wheel", "key.reject", [], { match: "app*", include_accepted: true }],
  ["wheel", "key.accept", [], { match: "app1", include_rejected: true }],
  ["wheel", "key.reject_dict", [], { match: { minions: ["app1"] }, include_accepted: true }],
  ["wheel", "key.delete_dict", [], { match: { minions_rejected: ["app1"] } }],
  ["wheel", "key.delete", [], { match: "app*" }],
  ["wheel", "key.list", [], { match: "bogus" }],
  ["runner", "test.arg", ["a", 1], { k: { x: 1 } }],
  ["runner", "manage.up", [], { tgt: minionId }],
  ["runner", "cache.pillar", [minionId], {}],
  ["runner", "mine.get", ["*", "test.ping"], {}],
];

const missingFunction = "nosuch.fun";

describe("runner and wheel functions beside Salt's", { skip }, () => {
  const bed = new TestBed();
  const pillar = join(bed.folder, "pillar");
  const masters: MasterUnderTest[] = [];

  before(async () => {
    if (release === undefined) return;
    writePillar();
    const { publicPem } = await generateMinionKeys(2_048);
    for (const maker of [release, "ours"] as const) masters.push(await startMaster(maker, publicPem));
  });
  after(() => bed.close());

  function writePillar(): void {
    mkdirSync(pillar);
    const mines = { "test.ping": [], restricted: [{ mine_function: "grains.get" }, "id", { allow_tgt: "db*" }] };
    writeFileSync(join(pillar, "common.sls"), JSON.stringify({ zone: "b", company: "Example", mine_functions: mines }));
    writeFileSync(join(pillar, "web.sls"), "tier: front\n");
    const top = { base: { "*": ["common"], "role:web": [{ match: "grain" }, "web"], "web*": ["web"] } };
    writeFileSync(join(pillar, "top.sls"), JSON.stringify(top));
  }

  async function startMaster(maker: "ours" | NonNullable<typeof release>, pending: string): Promise<MasterUnderTest> {
    const name = maker === "ours" ? "ours" : "theirs";
    const options = { timeout: 5, gather_job_timeout: 5, auto_accept: true, pillar_roots: { base: [pillar] } };
    const master = await MasterUnderTest.create(bed, maker, { ...options, id: "the_master" }, name);
    await master.start();
    const watch: EventWatch = await bed.watchEvents(master.sockDir);
    if (release !== undefined) new MinionUnderTest(master, release, minionId, {}, `${name}-minions`);
    await watch.until("minion start", ({ tag }) => tag === `salt/minion/${minionId}/start`, startTimeoutMs);
    for (const id of ["app1", "app2"]) writeFileSync(join(master.pkiDir, "minions_pre", id), pending);
    return master;
  }

  bed.it("salt-run prints the same", async () => {
    const [theirs, ours] = masters;
    assert.ok(theirs !== undefined && ours !== undefined && release !== undefined);
    for (const words of commands) {
      const typed = ["-l", "warning", ...words];
      const both: readonly Ended[] = await Promise.all([
        new Operator(release, theirs).run("run", typed),
        new Operator("ours", ours).run("run", typed),
      ]);
      const [expected, actual]: readonly Comparable[] = both.map(comparable);
      // For an unknown function Salt ends with 0, which a script takes for success; ours ends with 1.
      const decided = words.includes(missingFunction) ? { ...expected, code: 1 } : expected;
      assert.deepEqual(actual, decided, `salt-run ${words.join(" ")}`);
    }
  });

  bed.it("Salt's WheelClient and RunnerClient get the same answers", async () => {
    const [theirs, ours] = masters;
    assert.ok(theirs !== undefined && ours !== undefined);
    const expected = await answers(theirs);
    const actual = await answers(ours);
    for (const [index, call] of calls.entries()) assert.deepEqual(actual[index], expected[index], JSON.stringify(call));
    assert.equal(actual.length, calls.length);
  });

  async function answers(master: MasterUnderTest): Promise<unknown[]> {
    const script = join(repositoryRoot, "test/interop/operators/call_clients.py");
    const config = join(master.configDir, "master");
    const python = release?.program("python") ?? "";
    const ended = await runCommand(python, [script, config, JSON.stringify(calls)], { timeoutMs: callsTimeoutMs });
    assert.equal(ended.code, 0, ended.stderr);
    return ended.stdout
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  }

  bed.it("presence is known without asking", async () => {
    const ours = masters[1];
    assert.ok(ours !== undefined);
    const operator = new Operator("ours", ours);
    assert.deepEqual(await operator.json("run", ["manage.present"]), [minionId]);
    assert.deepEqual(await operator.json("run", ["manage.not_present"]), []);
    const versions = (await operator.json("run", ["manage.versions"])) as Record<string, unknown>;
    const groups = Object.entries(versions).filter(([name]) => name !== "Master");
    assert.deepEqual(
      groups.map(([, minions]) => minions),
      [{ [minionId]: release?.version }],
    );
    assert.equal(versions.Master, JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")).version);
  });
});
