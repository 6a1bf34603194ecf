/** Every recorded target on the recorded fleet: whom our master expects, who answers, and what the command line says. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { targetExpression } from "../../src/cli/args/targets.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import { MasterClient } from "../../src/client/master-client.ts";
import { loadMasterConfig } from "../../src/config/load.ts";
import { hasCode } from "../../src/errors.ts";
import { expandTarget, readNodegroups } from "../../src/target/nodegroups.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { TestHost } from "../cli/test-host.ts";
import { repositoryRoot } from "../root.ts";
import { type CommandResult, GoldenFleet } from "./golden-fleet.ts";

type Run = { readonly argv: readonly string[]; readonly returned: readonly string[]; readonly rc: number };
type Recorded = Run & {
  readonly type: string;
  readonly expr: string;
  readonly delimiter?: string;
  readonly expected_by_master: readonly string[];
  readonly missing_by_master: readonly string[];
  readonly expected_if_minion_data_cache_off?: readonly string[];
  readonly stderr: string;
  readonly stdout?: string;
  readonly static_run?: Run;
};
const path = join(repositoryRoot, "test/golden/targeting.json");
const recorded = (JSON.parse(readFileSync(path, "utf8")) as { expressions: Recorded[] }).expressions;
const deadline = { timeout: 600_000 };

/** The ids that a command line in JSON shows, in one document or in one a line. */
function shownIds(stdout: string): string[] {
  const documents = stdout.startsWith("{\n") ? [stdout] : stdout.split("\n");
  const maps = documents.filter((text) => text.trim().startsWith("{"));
  return maps.flatMap((text) => Object.keys(JSON.parse(text) as object)).sort();
}

describe("recorded targets on a fleet of ours", deadline, () => {
  let fleet: GoldenFleet;
  let client: MasterClient;
  const results = new Map<readonly string[], Pick<CommandResult, "stdout" | "stderr" | "rc">>();

  /** The command line without a process of its own, which would take most of this test's time. */
  async function type(argv: readonly string[]): Promise<void> {
    const [program = "", ...words] = argv;
    const host = new TestHost();
    const rc = await dispatch([program, "-c", fleet.configDir, ...words], host);
    results.set(argv, { stdout: host.out, stderr: host.err, rc });
  }

  /** What the master expects, without a job; undefined where the command line knows no such group. */
  async function expectation(entry: Recorded): Promise<{ minions: string[]; missing: unknown } | undefined> {
    const groups = readNodegroups(loadMasterConfig(fleet.configDir).nodegroups);
    let written: ReturnType<typeof expandTarget>;
    try {
      written = expandTarget(entry.type, targetExpression(entry.type, entry.expr), groups);
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return undefined;
    }
    const question = { tgt: written.expression, tgt_type: written.kind, delimiter: entry.delimiter ?? ":" };
    const { value, isSuccess } = await client.wheel("saltworks.match_target", question);
    assert.ok(isSuccess, `${entry.expr}: ${String(value)}`);
    const answer = value as ValueMap;
    return { minions: (answer.get("minions") as string[]).sort(), missing: answer.get("missing") };
  }

  before(async () => {
    fleet = await GoldenFleet.start();
    client = await MasterClient.open(loadMasterConfig(fleet.configDir), userInfo().username);
    const runs = recorded.flatMap((entry) => [entry.argv, ...(entry.static_run ? [entry.static_run.argv] : [])]);
    // Some at once: most of a job's time is spent waiting.
    const lane = async () => {
      for (let argv = runs.shift(); argv !== undefined; argv = runs.shift()) await type(argv);
    };
    await Promise.all(Array.from({ length: 4 }, lane));
  }, deadline);
  after(async () => {
    client?.close();
    await fleet?.close();
  });

  for (const entry of recorded) {
    const { type, expr, argv, expected_by_master: expected, missing_by_master: missing } = entry;
    it(`${type} ${JSON.stringify(expr)}`, async () => {
      const found = await expectation(entry);
      assert.deepEqual(found?.minions ?? [], expected, "expected by the master");
      assert.deepEqual(found?.missing ?? [], missing, "names without a key");
      const result = results.get(argv);
      assert.deepEqual(shownIds(result?.stdout ?? ""), entry.returned, `answered: ${result?.stdout}${result?.stderr}`);
      assert.deepEqual([result?.rc, result?.stderr], [entry.rc, entry.stderr]);
      if (entry.returned.length === 0) {
        assert.equal(result?.stdout.replaceAll(fleet.root, "ROOT"), entry.stdout, "what is said");
      }
    });
  }

  it("with --static reach the same minions, where Salt loses the delimiter", () => {
    const runs = recorded.flatMap((entry) => (entry.static_run ? [{ entry, run: entry.static_run }] : []));
    assert.equal(runs.length, 3);
    for (const { entry, run } of runs) {
      const result = results.get(run.argv);
      assert.deepEqual(shownIds(result?.stdout ?? ""), entry.returned, entry.expr);
      if (entry.delimiter === undefined) assert.equal(result?.rc, run.rc, entry.expr);
    }
  });

  it("are stored as the text that the nodegroup stands for", async () => {
    const published = await fleet.run(["salt", "-N", "deep", "test.ping", "--async"]);
    const jid = /\d{20}/.exec(published.stdout)?.[0] ?? "";
    const job = JSON.parse((await fleet.run(["salt-run", "jobs.list_job", jid, "--out=json"])).stdout) as ValueMap;
    const { Target, "Target-type": kind, Minions } = job as unknown as Record<string, unknown>;
    assert.equal(Target, "( ( ( ( web* ) and G@env:prod ) or ( L@es1,es2, ) ) and not es2 )");
    assert.deepEqual([kind, Minions], ["compound", ["es1", "web1.example.com"]]);
  });

  it("that loop are refused by name, and those that this program cannot decide with the reason", async () => {
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

  it("of more minions than the threshold are sent only with --yes, where nobody can be asked", async () => {
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
    for (const entry of recorded) {
      if (entry.type === "nodegroup" && entry.expr === "nope") continue;
      const found = await expectation(entry);
      const expected = entry.expected_if_minion_data_cache_off ?? entry.expected_by_master;
      assert.deepEqual(found?.minions, expected, `${entry.type} ${entry.expr}`);
    }
  });
});
