/** Workload files: what they mean, and errors that name file, line and member. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readWorkload } from "../../../bench/workload/read.ts";
import { hasCode } from "../../../src/errors.ts";

const directory = mkdtempSync(join(tmpdir(), "sw-workload-"));
after(() => rmSync(directory, { recursive: true, force: true }));

let files = 0;

function written(text: string): string {
  files += 1;
  const file = join(directory, `${files}.yaml`);
  writeFileSync(file, text);
  return file;
}

const least = "name: least\nminions: 10\nseconds: 5\noperations:\n  - {kind: pillar, rate: 1}\n";

describe("a workload file", () => {
  it("has defaults for everything but name, minions, length and operations", () => {
    const { text, ...read } = readWorkload(written(least));
    assert.equal(text, least);
    assert.deepEqual(read, {
      ...{ name: "least", minions: 10, versions: [3], connections: 0, processes: 0, seed: 1, arrivals: "poisson" },
      ...{ warmUp: 5, apiUrl: "" },
      stages: [{ name: "all", seconds: 5, from: 1, to: 1, isMeasured: true }],
      operations: [{ kind: "pillar", name: "pillar", rate: 1 }],
    });
  });

  it("has stages with ramps, shares of versions and all kinds of operations", () => {
    const read = readWorkload(
      written(`name: all
minions: 200
versions: {3: 75%, 2: 25%}
stages:
  - {seconds: 2, rate: 50%, measured: false}
  - {name: ramp, seconds: 3, rate: 100%..300%}
operations:
  - {kind: job, rate: 0.5, target: {share: 10%}, bytes: "lognormal:700:0.8", delayMs: 0..100}
  - {kind: return, name: scheduled, rate: 5, bytes: 64}
  - {kind: event, rate: 1}
  - {kind: mine, rate: 1, bytes: 10}
  - {kind: mine_get, rate: 1, target: "sim-1?"}
  - {kind: pillar, rate: 1}
  - {kind: file, rate: 1, path: top.sls}
  - {kind: auth, rate: 1, token: false}
  - {kind: api, users: 3, thinkMs: 10..20, call: {client: wheel, fun: key.list_all}}
`),
    );
    assert.deepEqual(read.stages, [
      { name: "stage 1", seconds: 2, from: 0.5, to: 0.5, isMeasured: false },
      { name: "ramp", seconds: 3, from: 1, to: 3, isMeasured: true },
    ]);
    assert.equal(read.versions.length, 100);
    assert.equal(read.versions.filter((version) => version === 2).length, 25);
    // Also of a small fleet.
    assert.equal(read.versions.slice(0, 8).filter((version) => version === 2).length, 2);
    const [job, scheduled] = read.operations;
    assert.deepEqual(job?.kind === "job" && job.target, { kind: "share", share: 0.1 });
    assert.deepEqual(scheduled?.kind === "return" && scheduled.bytes, { kind: "fixed", value: 64 });
    const api = read.operations.at(-1);
    assert.deepEqual(api?.kind === "api" && "users" in api.pace && api.pace.users, 3);
  });

  const refused: readonly (readonly [name: string, from: string, to: string, message: RegExp])[] = [
    [
      "a member that does not exist",
      "seconds: 5",
      "secods: 5",
      /:3: secods: there is no such member; there are: name,/,
    ],
    ["a missing member", "minions: 10\n", "", /:1: minions: is missing: it takes a whole number from 1 to 1,000,000/],
    ["a value out of range", "minions: 10", "minions: 0", /:2: minions: takes a whole number from 1 .*, not 0/],
    [
      "a kind that does not exist",
      "kind: pillar",
      "kind: pilar",
      /:5: operations\.1\.kind: takes one of job, .* not "pilar"/,
    ],
    ["a member of another kind", "rate: 1", "rate: 1, bytes: 5", /:5: operations\.1\.bytes: there is no such member/],
    ["a rate of nothing", "rate: 1", "rate: 0", /:5: operations\.1\.rate: takes a number from 0\.0001/],
    ["two of one name", "rate: 1}", "rate: 1}\n  - {kind: pillar, rate: 2}", /operations: two have the name 'pillar'/],
    [
      "seconds beside stages",
      "seconds: 5",
      "seconds: 5\nstages: [{seconds: 1}]",
      /:3: seconds: means nothing beside stages/,
    ],
    ["a wrong ramp", "seconds: 5", "stages: [{seconds: 1, rate: 5}]", /:3: stages\.1\.rate: takes 100% or a ramp/],
    [
      "stages that measure nothing",
      "seconds: 5",
      "stages: [{seconds: 1, measured: false}]",
      /stages: measures no stage/,
    ],
    [
      "shares that are not 100 %",
      "seconds: 5",
      "seconds: 5\nversions: {3: 50%}",
      /versions: takes whole shares .* not 50 %/,
    ],
    [
      "a wrong distribution",
      "kind: pillar",
      "kind: return, bytes: 1..x",
      /operations\.1\.bytes: 1\.\.x is not a distribution/,
    ],
    ["an API call that waits for minions", "kind: pillar", "kind: api, call: {client: local}", /write local_async/],
    [
      "mines of several sizes",
      "kind: pillar",
      "kind: mine_get, target: a, bytes: 1, rate: 1}\n  - {kind: mine_get, name: b, target: a, bytes: 2",
      /all mine_get must have the same bytes/,
    ],
    [
      "two targets",
      "kind: pillar",
      "kind: job, target: {share: 1%, count: 2}",
      /target: takes one of share, count, glob/,
    ],
    ["what is not YAML", "operations:", "operations: [", /:\d+: /],
  ];
  for (const [name, from, to, message] of refused) {
    it(`is refused with ${name}`, () => {
      const file = written(least.replace(from, to));
      assert.throws(
        () => readWorkload(file),
        (error: Error) =>
          hasCode(error, "USAGE") && error.message.startsWith(`${file}:`) && message.test(error.message),
      );
    });
  }

  it("is refused if it cannot be read", () => {
    assert.throws(() => readWorkload(join(directory, "none.yaml")), /workload file cannot be read: ENOENT/);
  });
});
