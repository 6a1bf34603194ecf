/** Every recorded target, typed on the recorded fleet: the minions that our master expects, the minions that answer, and the output. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { targetExpression } from "../../../src/cli/args/targets.ts";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { MasterClient } from "../../../src/client/master-client.ts";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { hasCode } from "../../../src/errors.ts";
import { expandTarget, readNodegroups } from "../../../src/target/nodegroups.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { TestHost } from "../../cli/test-host.ts";
import { repositoryRoot } from "../../root.ts";
import type { CommandResult, GoldenFleet } from "./fleet.ts";

type Run = { readonly argv: readonly string[]; readonly returned: readonly string[]; readonly rc: number };
export type RecordedTarget = Run & {
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
export const recordedTargets = (JSON.parse(readFileSync(path, "utf8")) as { expressions: RecordedTarget[] })
  .expressions;
/** Several commands at once, because most of a job's time is waiting. */
const lanesMax = 4;

export class TargetReplay {
  readonly #fleet: GoldenFleet;
  readonly #client: MasterClient;
  readonly #results = new Map<readonly string[], Pick<CommandResult, "stdout" | "stderr" | "rc">>();

  private constructor(fleet: GoldenFleet, client: MasterClient) {
    this.#fleet = fleet;
    this.#client = client;
  }

  /** Resolves when all commands have been typed. */
  static async run(fleet: GoldenFleet): Promise<TargetReplay> {
    const client = await MasterClient.open(loadMasterConfig(fleet.configDir), userInfo().username);
    const replay = new TargetReplay(fleet, client);
    const runs = recordedTargets.flatMap((entry) => [entry.argv, ...(entry.static_run ? [entry.static_run.argv] : [])]);
    const lane = async () => {
      for (let argv = runs.shift(); argv !== undefined; argv = runs.shift()) await replay.#type(argv);
    };
    await Promise.all(Array.from({ length: lanesMax }, lane));
    return replay;
  }

  result(argv: readonly string[]): Pick<CommandResult, "stdout" | "stderr" | "rc"> | undefined {
    return this.#results.get(argv);
  }

  /** The minions that the master expects, without a job; undefined if the command line knows no such group. */
  async expectation(entry: RecordedTarget): Promise<{ minions: string[]; missing: unknown } | undefined> {
    const groups = readNodegroups(loadMasterConfig(this.#fleet.configDir).nodegroups);
    let written: ReturnType<typeof expandTarget>;
    try {
      written = expandTarget(entry.type, targetExpression(entry.type, entry.expr), groups);
    } catch (error) {
      if (!hasCode(error, "TARGET_INVALID")) throw error;
      return undefined;
    }
    const question = { tgt: written.expression, tgt_type: written.kind, delimiter: entry.delimiter ?? ":" };
    const { value, isSuccess } = await this.#client.wheel("saltworks.match_target", question);
    assert.ok(isSuccess, `${entry.expr}: ${String(value)}`);
    const answer = value as ValueMap;
    return { minions: (answer.get("minions") as string[]).sort(), missing: answer.get("missing") };
  }

  async check(entry: RecordedTarget): Promise<void> {
    const found = await this.expectation(entry);
    assert.deepEqual(found?.minions ?? [], entry.expected_by_master, "expected by the master");
    assert.deepEqual(found?.missing ?? [], entry.missing_by_master, "names without a key");
    const result = this.result(entry.argv);
    assert.deepEqual(shownIds(result?.stdout ?? ""), entry.returned, `answered: ${result?.stdout}${result?.stderr}`);
    assert.deepEqual([result?.rc, result?.stderr], [entry.rc, entry.stderr]);
    if (entry.returned.length > 0) return;
    assert.equal(result?.stdout.replaceAll(this.#fleet.root, "ROOT"), entry.stdout, "what is said");
  }

  close(): void {
    this.#client.close();
  }

  /** The command line within this process, because a new process would take most of the time. */
  async #type(argv: readonly string[]): Promise<void> {
    const [program = "", ...words] = argv;
    const host = new TestHost();
    const rc = await dispatch([program, "-c", this.#fleet.configDir, ...words], host);
    this.#results.set(argv, { stdout: host.out, stderr: host.err, rc });
  }
}

/** One test per target. */
export function describeTargets(replay: () => TargetReplay): void {
  for (const entry of recordedTargets) {
    it(`${entry.type} ${JSON.stringify(entry.expr)}`, () => replay().check(entry));
  }

  it("with --static reach the same minions, where Salt loses the delimiter", () => {
    const runs = recordedTargets.flatMap((entry) => (entry.static_run ? [{ entry, run: entry.static_run }] : []));
    assert.equal(runs.length, 3);
    for (const { entry, run } of runs) {
      const result = replay().result(run.argv);
      assert.deepEqual(shownIds(result?.stdout ?? ""), entry.returned, entry.expr);
      if (entry.delimiter === undefined) assert.equal(result?.rc, run.rc, entry.expr);
    }
  });
}

/** The ids in JSON output, which is one document, or one a line. */
function shownIds(stdout: string): string[] {
  const documents = stdout.startsWith("{\n") ? [stdout] : stdout.split("\n");
  const maps = documents.filter((text) => text.trim().startsWith("{"));
  return maps.flatMap((text) => Object.keys(JSON.parse(text) as object)).sort();
}
