/** Every recorded target on the recorded fleet, and operators' other questions about targets. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { ValueMap } from "../../../src/wire/values.ts";
import { GoldenFleet } from "./fleet.ts";
import { describeTargets, recordedTargets, TargetReplay } from "./targets.ts";

const deadline = { timeout: 600_000 };

describe("recorded targets on a fleet of ours", deadline, () => {
  let fleet: GoldenFleet;
  let replay: TargetReplay;

  before(async () => {
    fleet = await GoldenFleet.start();
    replay = await TargetReplay.run(fleet);
  }, deadline);
  after(async () => {
    replay?.close();
    await fleet?.close();
  });

  describeTargets(() => replay);

  it("are stored as the text that the nodegroup stands for", async () => {
    const published = await fleet.run(["salt", "-N", "deep", "test.ping", "--async"]);
    const jid = /\d{20}/.exec(published.stdout)?.[0] ?? "";
    const job = JSON.parse((await fleet.run(["salt-run", "jobs.list_job", jid, "--out=json"])).stdout) as ValueMap;
    const { Target, "Target-type": kind, Minions } = job as unknown as Record<string, unknown>;
    assert.equal(Target, "( ( ( ( web* ) and G@env:prod ) or ( L@es1,es2, ) ) and not es2 )");
    assert.deepEqual([kind, Minions], ["compound", ["es1", "web1.example.com"]]);
  });

  it("that loop are refused by name, and undecidable ones with the reason", async () => {
    const loop = await fleet.run(["salt", "-N", "loopa", "test.ping"]);
    assert.equal(loop.rc, 2);
    assert.match(loop.stdout, /^No minions matched the target\. No command was sent, no jid was assigned\.\n$/);
    assert.match(loop.stderr, /illegal nested nodegroup "loopa"\n/);
    const refused = await fleet.run(["salt", "-E", "(es)\\1", "test.ping"]);
    assert.equal(refused.rc, 2);
    assert.match(refused.stderr, /ERROR: regular expression refused: a back-reference is not supported/);
    const long = await fleet.run(["salt", "-C", new Array<string>(5_001).fill("es1").join(" or "), "test.ping"]);
    assert.deepEqual([long.rc, /more than 10000 words/.test(long.stderr)], [2, true], long.stderr);
  });

  it("are explained without a job", async () => {
    const words = ["salt", "-C", "( N@WEB and G@os:Debian or ghost ) and not es*", "--explain", "--out=json"];
    const { stdout, rc } = await fleet.run(words);
    const { target, matched, connected, not_connected, terms, unknown } = JSON.parse(stdout) as {
      readonly [name: string]: { readonly count: number; readonly first: { readonly [name: string]: unknown } };
    };
    assert.equal(rc, 0);
    assert.equal(target, "( web* and G@os:Debian or ghost ) and not es*");
    assert.equal(matched, 1);
    assert.match(String(connected?.first["web1.example.com"]), /^last heard \d{4}-.*Z, \d+ s ago$/);
    assert.equal(not_connected?.count, 0);
    assert.deepEqual(terms, { count: 4, first: { "web*": 2, "G@os:Debian": 1, ghost: 0, "es*": 2 } });
    assert.deepEqual(unknown, { count: 1, first: { ghost: "no key of this name" } });
  });

  it("of more minions than the threshold are sent only with --yes if no operator can be asked", async () => {
    const refused = await fleet.run(["salt", "*", "test.ping", "--confirm-above", "5"]);
    assert.equal(refused.rc, 64);
    assert.equal(refused.stdout, "");
    assert.match(refused.stderr, /^ERROR: 6 minions match the target, and more than 5 need a confirmation/);
    const few = await fleet.run(["salt", "*", "test.ping", "--confirm-above", "6", "--out=txt"]);
    assert.deepEqual([few.rc, few.stdout.trim().split("\n").length], [0, 6]);
    const said = await fleet.run(["salt", "*", "test.ping", "--confirm-above", "5", "--yes", "--out=txt"]);
    assert.deepEqual([said.rc, said.stdout.trim().split("\n").length], [0, 6]);
  });

  it("expect everybody who has a key where the master keeps no data of minions", async () => {
    await fleet.stopMaster();
    await fleet.startMaster({ minion_data_cache: false });
    for (const entry of recordedTargets) {
      if (entry.type === "nodegroup" && entry.expr === "nope") continue;
      const found = await replay.expectation(entry);
      const expected = entry.expected_if_minion_data_cache_off ?? entry.expected_by_master;
      assert.deepEqual(found?.minions, expected, `${entry.type} ${entry.expr}`);
    }
  });
});
