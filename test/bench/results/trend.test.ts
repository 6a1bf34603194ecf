/** A trend tells machines and loads apart, leaves out other scenarios and void runs, and names the commit of the largest step. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { showTrend } from "../../../bench/commands/trend.ts";
import { trendOf } from "../../../bench/report/trend.ts";
import type { RunResult } from "../../../bench/results/schema.ts";
import type { Host } from "../../../src/cli/host/host.ts";
import { sampleOperation, samplePoint, sampleResult } from "../sample-result.ts";

/** A result of this day of November. */
function on(day: number, usPerOperation: number, change: Partial<RunResult> = {}): RunResult {
  const cpu = { totalMs: 1, usPerOperation, byThreadMs: {} };
  return sampleResult({
    startedAt: `2026-11-${String(day).padStart(2, "0")}T10:00:00.000Z`,
    tool: { version: "0.1.0", commit: `commit${day}` },
    points: [samplePoint({ cpu })],
    ...change,
  });
}

const files = (...results: readonly RunResult[]) => results.map((result, index) => ({ path: `${index}.json`, result }));

describe("trendOf", () => {
  it("sorts by time, and says what changed and at which commit most", () => {
    const trend = trendOf(files(on(3, 70), on(1, 100), on(2, 98), on(4, 71)));
    assert.deepEqual(
      trend?.rows.map(({ commit, figures }) => [commit, figures["CPU µs/op"]]),
      [
        ["commit1", 100],
        ["commit2", 98],
        ["commit3", 70],
        ["commit4", 71],
      ],
    );
    const [sentence = "", ...others] = trend?.changes ?? [];
    assert.deepEqual(others, []);
    assert.match(
      sentence,
      /^machine A, storm: from 2026-11-01 10:00 \(commit1\) to 2026-11-04 10:00 \(commit4\): CPU µs\/op 100 to 71 \(−29 %\), the largest step at commit3 \(−29 %\);/,
    );
    assert.match(sentence, /return p99 ms .*without a step of 5 % or more/);
  });

  it("makes lines of their own for another machine and for another load", () => {
    const { machine, scenario } = sampleResult();
    const other = { machine: { ...machine, cores: 8 } };
    const larger = { scenario: { ...scenario, parameters: { minions: 4_000 } } };
    const trend = trendOf(files(on(1, 100), on(2, 30, other), on(3, 50, larger), on(4, 100)));
    assert.deepEqual(
      trend?.rows.map(({ series }) => series),
      [
        "machine A, minions=1000, storm",
        "machine B, minions=1000, storm",
        "machine A, minions=4000, storm",
        "machine A, minions=1000, storm",
      ],
    );
    assert.match(trend?.machines.B ?? "", /^8 cores of A processor/);
    assert.equal(trend?.changes.length, 1);
  });

  it("makes lines of their own for another workload file, another master and other settings", () => {
    const { master, scenario } = sampleResult();
    const file = (source: string) => ({ scenario: { ...scenario, source } });
    const of = (...results: RunResult[]) => trendOf(files(...results))?.rows.map(({ series }) => series);
    assert.deepEqual(of(on(1, 100, file("a")), on(2, 30, file("b")), on(3, 50, file("a"))), [
      "machine A, workload file=ca978112, storm",
      "machine A, workload file=3e23e816, storm",
      "machine A, workload file=ca978112, storm",
    ]);
    const others = { master: { ...master, config: { worker_threads: 4 }, address: "salt:4506" } };
    assert.deepEqual(of(on(1, 100), on(2, 30, others)), [
      "machine A, worker_threads=2, address=a master of the bench, storm",
      "machine A, worker_threads=4, address=salt:4506, storm",
    ]);
  });

  it("does not show CPU and memory that the bench could not see", () => {
    const unseen = samplePoint({ isUsageUnknown: true });
    const [row] = trendOf(files(on(1, 1, { points: [unseen] })))?.rows ?? [];
    assert.deepEqual(Object.keys(row?.figures ?? {}), ["return p50 ms", "return p99 ms"]);
  });

  it("leaves out and names other scenarios, other versions and void results", () => {
    const { scenario } = sampleResult();
    const point = samplePoint();
    const empty = { points: [{ ...point, generator: { ...point.generator, isVoid: true } }] };
    const results = [on(1, 100), on(2, 90), on(3, 1, { scenario: { ...scenario, version: 2 } }), on(4, 1, empty)];
    const trend = trendOf(files(...results));
    assert.equal(trend?.rows.length, 2);
    assert.deepEqual(trend?.leftOut, [
      "2.json: it is of return-storm version 2, not of return-storm version 1",
      "3.json: each of its runs is void",
    ]);
  });

  it("does not show percentiles of too few samples", () => {
    const few = samplePoint({ operations: { return: { ...sampleOperation(4), completed: 40 } } });
    const [row] = trendOf(files(on(1, 1, { points: [few] })))?.rows ?? [];
    assert.deepEqual(Object.keys(row?.figures ?? {}), ["CPU µs/op", "return p50 ms", "memory MiB"]);
  });
});

describe("saltworks bench trend", () => {
  const folder = mkdtempSync(join(tmpdir(), "saltworks-trend-"));
  after(() => rmSync(folder, { recursive: true }));

  it("reads directories, writes a table and a page, and JSON alone if asked", () => {
    mkdirSync(join(folder, "of", "it"), { recursive: true });
    for (const day of [1, 2])
      writeFileSync(join(folder, "of", "it", `${day}.json`), JSON.stringify(on(day, 100 * day)));
    writeFileSync(join(folder, "of", "else.json"), "{}");
    let [out, err] = ["", ""];
    const host = {
      write: (text: string) => {
        out += text;
      },
      complain: (text: string) => {
        err += text;
      },
    } as Host;
    const page = join(folder, "trend.html");
    const options = { isJson: false, reportFile: page, outputDirectory: undefined };
    assert.equal(showTrend([join(folder, "of")], options, host), 0);
    assert.match(out, /^2026-11-02 10:00 +commit2 +machine A, storm +200 /m);
    assert.match(out, /CPU µs\/op 100 to 200 \(\+100 %\), the largest step at commit2/);
    assert.match(err, /^Left out: .*else\.json: it names no schema/m);
    const html = readFileSync(page, "utf8");
    assert.match(html, /"trend":\[\{"title":"CPU µs\/op".*"name":"machine A, storm"/);
    out = "";
    assert.equal(showTrend([join(folder, "of")], { ...options, isJson: true, reportFile: undefined }, host), 0);
    assert.equal((JSON.parse(out) as { rows: unknown[] }).rows.length, 2);
    assert.throws(() => showTrend([], options, host), { code: "USAGE" });
  });
});
