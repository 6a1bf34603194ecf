/** `mine.get` and `publish.*` by Salt's minions and ours, on our master and on Salt's: the same requests have the same answers. */
import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import { Operator } from "./operator.ts";
import { openReleases } from "./salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, makerName, TestBed } from "./test-bed.ts";

const releases = await openReleases();
const startTimeoutMs = 120_000;
const settleMs = 120_000;

/** The minions' mines: for all minions, under another name, and for one of the two minions alone. */
const mine_functions = {
  "test.ping": [],
  words: [{ mine_function: "test.echo" }, "grüße"],
  guarded: { mine_function: "test.echo", text: "for one", allow_tgt: "salted" },
  closed: { mine_function: "test.echo", text: "for nobody", allow_tgt: "nobody" },
};

const questions: readonly (readonly string[])[] = [
  ["*", "test.ping"],
  ["*", "words"],
  ["salted", "test.ping,words"],
  ["*", "[test.ping, none]"],
  ["*", "none"],
  ["nobody", "test.ping"],
  ["*", "guarded"],
  ["*", "closed"],
  ["kind:first", "words", "tgt_type=grain"],
  ["G@kind:first or ours", "words", "tgt_type=compound"],
  ["not G@kind:first", "words", "tgt_type=compound"],
  ["kind:*", "words", "tgt_type=pillar"],
  ["ours,salted", "words", "tgt_type=list"],
  ["o.*", "words", "tgt_type=pcre"],
  ["*", "words", "tgt_type=nothing"],
];

/** `peer`: both may publish these functions, one of them only to one minion. `peer_run`: both may run these. */
const permissions = {
  peer: { "salted|ours": ["test.ping$", "test.echo", { ours: ["grains.get"] }] },
  peer_run: { ".*": ["test.*"] },
};
const publishes: readonly (readonly string[])[] = [
  ["publish.publish", "*", "test.ping", "timeout=60"],
  ["publish.publish", "kind:first", "test.echo", "a, b", "tgt_type=grain", "timeout=60"],
  ["publish.publish", "not G@kind:first", "test.echo", "[text=k]", "tgt_type=compound", "timeout=60"],
  ["publish.publish", "*", "cmd.run", "id"],
  ["publish.publish", "nobody", "test.ping"],
  ["publish.publish", "kind:*", "test.ping", "tgt_type=pillar"],
  ["publish.publish", "ours", "grains.get", "kind", "timeout=60"],
  ["publish.full_data", "ours", "test.ping", "timeout=60"],
  ["publish.runner", "test.arg", "[a, k=1, 2.0]"],
  ["publish.runner", "test.nosuch"],
];

type Answers = Readonly<Record<string, unknown>>;

describe("what minions ask of each other", { skip: releases.skip }, () => {
  const release = releases.all.find(({ name }) => name === "3007");
  if (release === undefined) return;
  const bed = new TestBed();
  const answers = new Map<Maker, Promise<Answers>>();

  before(async () => {
    for (const maker of ["ours", release] as const) answers.set(maker, answersOf(maker));
    const all = await Promise.all(answers.values());
    const both = { ours: "grüße", salted: "grüße" };
    for (const found of all) assert.deepEqual(found["* words"], { ours: both, salted: both }, "mines are filled");
  });
  after(() => bed.close());

  async function answersOf(maker: Maker): Promise<Answers> {
    const name = maker === "ours" ? "our" : "their";
    const options = { auto_accept: true, pillar_roots: { base: [] }, worker_threads: 4, ...permissions };
    const master = await MasterUnderTest.create(bed, maker, options, name);
    await master.start();
    const watch = await bed.watchEvents(master.sockDir);
    const minionOptions = (kind: string) => ({ mine_functions, grains: { kind } });
    new MinionUnderTest(master, release as Maker, "salted", minionOptions("first"), name);
    new MinionUnderTest(master, "ours", "ours", minionOptions("second"), name);
    for (const id of ["salted", "ours"]) {
      await watch.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    }
    const operator = new Operator("ours", master);
    const get = (words: readonly string[]) => operator.json("salt", ["--static", "*", "mine.get", ...words]);
    await operator.run("salt", ["*", "mine.update"]);
    const deadlineMs = performance.now() + settleMs;
    const both = { ours: "grüße", salted: "grüße" };
    let found: unknown;
    do found = await get(["*", "words"]);
    while (!sameAs(found, { ours: both, salted: both }) && performance.now() < deadlineMs);
    const all: Record<string, unknown> = {};
    for (const words of questions) all[words.join(" ")] = await get(words);
    // One after the other, because a worker of Salt's that publishes for a minion waits for another worker.
    for (const words of publishes) all[words.join(" ")] = await operator.json("salt", ["--static", "*", ...words]);
    return all;
  }

  for (const words of [...questions, ...publishes]) {
    const question = words.join(" ");
    bed.it(`${question}: our master answers both minions as ${makerName(release)} does`, async () => {
      const ours = (await answers.get("ours"))?.[question];
      assert.deepEqual(ours, (await answers.get(release))?.[question]);
      assert.deepEqual(Object.keys(ours as object).toSorted(), ["ours", "salted"], "both have an answer");
    });
  }
});

function sameAs(found: unknown, expected: unknown): boolean {
  try {
    assert.deepEqual(found, expected);
    return true;
  } catch (error) {
    if (!(error instanceof assert.AssertionError)) throw error;
    return false;
  }
}
