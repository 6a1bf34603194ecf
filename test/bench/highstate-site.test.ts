/** The requests of the bench's highstate against those of a real minion, which test/golden/highstate.json holds. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { highstateRequests } from "../../bench/scenarios/setup/highstate-site.ts";
import { goldenPath } from "../golden/path.ts";

type Recorded = {
  readonly cmd: string;
  readonly path?: string;
  readonly loc?: number;
  readonly [member: string]: unknown;
};

const recorded = JSON.parse(readFileSync(goldenPath("highstate.json"), "utf8")) as {
  readonly first: readonly Recorded[];
  readonly second: readonly Recorded[];
};

/** One sls file after the other and one source after the other have the same requests, so each kind of file stands for all of its kind. */
function kindOf(path: string | undefined): string {
  if (path === undefined) return "";
  return path === "top.sls" ? "top" : path.endsWith(".sls") ? "sls" : "source";
}

/** Members that only the real minion has: the session adds some, and the bench leaves out what a master does not read. */
const notCompared = new Set(["channel", "user", "out", "_stamp", "nonce", "ts"]);

function shapeOf({ cmd, path, loc, ...rest }: Recorded): string {
  const members = Object.keys(rest).filter((name) => !notCompared.has(name));
  return [cmd, kindOf(path), loc === undefined ? "" : loc === 0 ? "start" : "end", ...members.sort()].join(" ");
}

const tree = { files: 20, fileBytes: 64, states: 2, managed: 3 };

describe("the bench's highstate", () => {
  for (const [name, isFirst] of [
    ["first", true],
    ["second", false],
  ] as const) {
    it(`sends what a real minion sends, in its order: the ${name} one`, () => {
      const ours = highstateRequests({ id: "unit", index: 0, jid: "20261124111425250617", tree, isFirst });
      assert.deepEqual((ours as readonly Recorded[]).map(shapeOf), recorded[name].map(shapeOf));
    });
  }

  it("asks for other files for each minion", () => {
    const pathsOf = (index: number) =>
      highstateRequests({ id: `m${index}`, index, jid: "1", tree, isFirst: true }).flatMap(({ path }) => path ?? []);
    const sources = [0, 1, 2].flatMap((index) =>
      [...new Set(pathsOf(index))].filter((path) => kindOf(String(path)) === "source"),
    );
    assert.equal(new Set(sources).size, 3 * tree.managed);
  });
});
