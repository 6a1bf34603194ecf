import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { operationsCsv, seriesCsv } from "../../../bench/results/csv.ts";
import { sampleOperation, samplePoint, sampleResult } from "../sample-result.ts";

const storage = {
  writtenBytesPerOperation: 700,
  syncsPerOperation: 0.1,
  cacheBytesPerOperation: 600,
  cacheBytesPerDay: 1e9,
};
const salt = { kind: "salt", version: "3007.16", config: {} } as const;
const result = sampleResult({
  points: [samplePoint({ label: 'a, "b"', storage }), samplePoint({ parameters: { repeat: 2 } })],
  peers: [{ master: salt, points: [samplePoint({ series: { atMs: [0, 1_000.4], values: { rssBytes: [5, 6] } } })] }],
});

describe("a result's tables", () => {
  it("have a row for each operation of each point, also of peers", () => {
    const [head, first, second, third, end] = operationsCsv(result).split("\r\n");
    assert.match(
      head ?? "",
      /^master,version,point,repeat,operation,planned,.*,is_void,to_master_bytes,from_master_bytes,written_.*,cache_bytes_per_day$/,
    );
    assert.match(
      first ?? "",
      /^saltworks,0\.1\.0,"a, ""b""",1,return,2000,2000,0,0,0,4000,.*,,,700,0\.1,600,1000000000$/,
    );
    assert.match(second ?? "", /^saltworks,0\.1\.0,storm,2,return,/);
    assert.match(third ?? "", /^salt,3007\.16,storm,1,return,.*,65,210000000,260000000,0,0,,,,,,$/);
    assert.equal(end, "");
    assert.equal(new Set([head, second].map((line) => line?.split(",").length)).size, 1);
  });

  it("have empty cells for percentiles of too few samples", () => {
    const few = { ...sampleOperation(4), completed: 99 };
    const [head = "", row = ""] = operationsCsv(
      sampleResult({ points: [samplePoint({ operations: { return: few } })] }),
    )
      .split("\r\n")
      .map((line) => line.split(","));
    const cell = (name: string): string => row[head.indexOf(name)] ?? "absent";
    assert.deepEqual([cell("p99_us"), cell("p99_9_us")], ["", ""]);
    assert.ok(Number(cell("p50_us")) > 0 && Number(cell("p90_us")) > 0 && Number(cell("max_us")) > 0);
  });

  it("have empty cells for CPU and memory that the bench could not see", () => {
    const unseen = operationsCsv(sampleResult({ points: [samplePoint({ isUsageUnknown: true })] }));
    assert.match(unseen, /,,,,0,0,,,,,,\r\n$/);
  });

  it("have a row for each second, with empty cells for what a master does not tell", () => {
    const lines = seriesCsv(result).split("\r\n");
    assert.equal(lines[0], "master,version,point,repeat,at_ms,queueDepth,queueWaitUs,rssBytes");
    assert.equal(lines[2], 'saltworks,0.1.0,"a, ""b""",1,1000,12,900,');
    assert.equal(lines.at(-2), "salt,3007.16,storm,1,1000,,,6");
  });
});
