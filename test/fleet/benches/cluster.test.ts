/** Smoke tests of the benches of a cluster: each runs briefly and prints its one line. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TurnResult } from "../../../bench/peers/cluster/turn.ts";
import type { OperationResult } from "../../../bench/results/schema.ts";
import { namespacesSkip } from "../../cluster/faults/program.ts";
import { natsServerSkip } from "../../services/nats-server.ts";

const timeoutMs = 240_000;
const skip = await natsServerSkip();

type Percentiles = OperationResult["percentilesUs"];

async function lineOf<Line>(program: string, ...args: readonly string[]): Promise<Line> {
  const file = fileURLToPath(new URL(`../../../bench/${program}.js`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { timeout: timeoutMs });
  return JSON.parse(stdout) as Line;
}

describe("benches of a cluster", { skip, timeout: 2 * timeoutMs }, () => {
  it("first-return: a minion of another member answers the publisher's job", async () => {
    type Side = { readonly name: string; readonly publishToAcknowledgedUs: Percentiles };
    const { sides, natsServer } = await lineOf<{ sides: Side[]; natsServer: string }>(
      "cluster/first-return",
      "--jobs",
      "3",
    );
    assert.match(natsServer, /^2\.\d+\.\d+$/);
    assert.deepEqual(
      sides.map(({ name }) => name),
      ["alone", "another member"],
    );
    for (const { name, publishToAcknowledgedUs } of sides) assert.ok(publishToAcknowledgedUs.p50 > 0, name);
  });

  it("accepted-key: another member gives the session after the request, and not before", async () => {
    type Line = { readonly fromRequestUs: Percentiles; readonly fromAnswerUs: Percentiles };
    const { fromRequestUs, fromAnswerUs } = await lineOf<Line>("cluster/accepted-key", "--keys", "3");
    assert.ok(fromRequestUs.p50 > 0);
    assert.ok(fromRequestUs.max >= fromAnswerUs.max);
  });

  it("lost-member: survivors have what was acknowledged, and the dead member's minions answer there", async () => {
    type Line = Readonly<Record<"expected" | "acknowledged" | "movedMinions" | "lastMovedAnsweredAfterMs", number>>;
    type Lost = Line & { readonly missingOnSurvivors: readonly number[] };
    const line = await lineOf<Lost>("cluster/lost-member", "--minions", "12", "--jobs", "2");
    assert.deepEqual([line.expected, line.acknowledged, line.movedMinions], [24, 24, 4]);
    assert.deepEqual(line.missingOnSurvivors, [0, 0]);
    assert.ok(line.lastMovedAnsweredAfterMs > 0);
  });

  it("losses: a member that is killed loses nothing that was acknowledged", { skip: namespacesSkip() }, async () => {
    type Turn = Pick<TurnResult, "acknowledged" | "lackedWhereAcknowledged" | "lackedElsewhere" | "neverGot">;
    type Line = { readonly turns: readonly { readonly fault: string; readonly rounds: readonly Turn[] }[] };
    const options = ["--rounds", "1", "--minions", "6", "--hold", "2", "--faults", "kill"];
    const { turns } = await lineOf<Line>("peers/cluster/losses", ...options);
    const [turn] = turns.flatMap(({ rounds }) => rounds);
    assert.ok(turn !== undefined && turn.acknowledged > 0);
    assert.deepEqual([turn.lackedWhereAcknowledged, turn.lackedElsewhere, turn.neverGot], [0, 0, 0]);
  });
});
