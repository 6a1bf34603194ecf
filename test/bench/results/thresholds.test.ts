import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Judgement, judgeThresholds, readThreshold } from "../../../bench/results/thresholds.ts";
import { sampleOperation, samplePoint } from "../sample-result.ts";

const operation = { ...sampleOperation(4), planned: 200, failed: 3, perSecond: 800 };
const percentilesUs = { p50: 4_000, p90: 5_000, p99: 20_000, p999: 30_000, max: 40_000 };
const point = samplePoint({ operations: { return: { ...operation, percentilesUs } }, figures: { downtimeMs: 700 } });

function judged(text: string): Judgement | undefined {
  return judgeThresholds([readThreshold(text)], [point])[0];
}

describe("conditions of --fail-if", () => {
  it("compare percentiles, rates, counts, shares, CPU, memory, answers and figures in their units", () => {
    const expected: readonly (readonly [text: string, observed: number, isCrossed: boolean])[] = [
      ["return.p99>50ms", 20, false],
      ["return.p99>19.9ms", 20, true],
      ["return.p99>0.02s", 0.02, false],
      ["return.p99>=20000us", 20_000, true],
      ["return.p99.9 > 29 ms", 30, true],
      ["return.p999>31ms", 30, false],
      ["return.rate<1000", 800, true],
      ["return.rate<=800", 800, true],
      ["return.rate<800", 800, false],
      ["return.failed>2", 3, true],
      ["return.failed>2%", 1.5, false],
      ["return.late>0", 0, false],
      ["cpu.perOperation>60us", 65, true],
      ["memory.peak>1GiB", 260_000_000 / 1_024 ** 3, false],
      ["memory.rss>200MB", 210, true],
      ["answers.missing>0", 0, false],
      ["figures.downtimeMs>500", 700, true],
    ];
    for (const [text, observed, isCrossed] of expected) {
      const found = judged(text);
      assert.equal(found?.text, text);
      assert.ok(Math.abs((found?.observed ?? Number.NaN) - observed) < 1e-9, `${text}: ${found?.observed}`);
      assert.equal(found?.isCrossed, isCrossed, text);
    }
  });

  it("judge each point that has the quantity, under its label", () => {
    const other = samplePoint({ label: "alone", operations: {} });
    const found = judgeThresholds(
      [readThreshold("return.p50>1ms"), readThreshold("cpu.perOperation>1s")],
      [point, other],
    );
    assert.deepEqual(
      found.map(({ text, label, isCrossed }) => `${label}: ${text} ${isCrossed}`),
      ["storm: return.p50>1ms true", "storm: cpu.perOperation>1s false", "alone: cpu.perOperation>1s false"],
    );
  });

  it("name operations with points, spaces and colons", () => {
    const names = ["state.apply", "pings: publish", "my-job", "state.apply of minions", "p99.9"];
    const many = samplePoint({
      operations: Object.fromEntries(names.map((name) => [name, { ...operation, percentilesUs }])),
    });
    for (const name of names)
      for (const [quantity, observed] of [
        ["p99>1ms", 20],
        ["p99.9>1ms", 30],
      ] as const) {
        const text = `${name}.${quantity}`;
        const [found] = judgeThresholds([readThreshold(text)], [many]);
        assert.deepEqual([found?.observed, found?.isCrossed], [observed, true], text);
      }
  });

  it("on CPU and memory are refused where the bench does not see them", () => {
    const unseen = samplePoint({ label: "mean", isUsageUnknown: true });
    for (const text of ["cpu.perOperation>60us", "memory.peak>1GiB"])
      assert.throws(() => judgeThresholds([readThreshold(text)], [unseen]), {
        code: "USAGE",
        message: /--fail-if '(?:cpu|memory)\..*': the master's (?:cpu|memory) was not seen in mean: give -c DIR/,
      });
    assert.equal(judgeThresholds([readThreshold("return.p50>1ms")], [unseen]).length, 1);
  });

  it("are refused before a run if they cannot be read", () => {
    const refused: readonly (readonly [string, RegExp])[] = [
      ["return.p99", /--fail-if 'return\.p99': write a quantity, a comparison and a number, such as /],
      ["return.p99=50ms", /write a quantity/],
      ["return.p99>fast", /write a quantity/],
      ["return.p98>5ms", /there is no quantity 'return\.p98'; there are: OPERATION\.p50, .*figures\.NAME/],
      ["memory.p99>5ms", /there is no quantity 'memory\.p99'/],
      ["return.p99>50", /return\.p99 takes us, µs, ms, s, not ''/],
      ["return.p99>5MB", /takes us, µs, ms, s, not 'MB'/],
      ["return.rate<10/s", /write a quantity/],
      ["figures.downtimeMs>5ms", /takes no unit, not 'ms'/],
      ["return.p99>1toString", /not 'toString'/],
      ["return.constructor>1", /there is no quantity 'return\.constructor'/],
    ];
    for (const [text, message] of refused) {
      assert.throws(() => readThreshold(text), { code: "USAGE", message }, text);
    }
  });

  it("are refused for a percentile of too few samples, with their number", () => {
    const few = samplePoint({ operations: { return: { ...operation, percentilesUs, completed: 40 } } });
    const judge = (text: string) => judgeThresholds([readThreshold(text)], [point, few]);
    assert.throws(() => judge("return.p99>5ms"), {
      code: "USAGE",
      message: "--fail-if 'return.p99>5ms': too few samples: storm has 40 samples of return; p99 needs 100",
    });
    assert.throws(() => judge("return.p99.9>5ms"), { message: /p99\.9 needs 1000$/ });
    assert.equal(judge("return.p90>5ms").length, 2);
    assert.equal(judge("return.max>5ms").length, 2);
  });

  it("name what the run has, if it does not have theirs", () => {
    assert.throws(() => judged("retrun.p99>5ms"), {
      code: "USAGE",
      message: "--fail-if 'retrun.p99>5ms': the run has nothing of this name; its operations are: return",
    });
    assert.throws(() => judged("figures.x>5"), { message: /its figures are: downtimeMs$/ });
  });
});
