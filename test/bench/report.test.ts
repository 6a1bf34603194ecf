import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reportHtml } from "../../bench/report/page.ts";
import type { Point, RunResult } from "../../bench/results/schema.ts";
import { sampleOperation, samplePoint, sampleResult } from "./sample-result.ts";

type PageData = {
  scaling?: { cores: number; sides: { name: string; measured: [number, number][]; curve: [number, number][] }[] };
  latency: { title: string; from: string; lines: { name: string; oneIn: number[]; ms: number[] }[] }[];
  series: { title: string; atMs: number[]; values: Record<string, number[]> }[];
};

function dataOf(html: string): PageData {
  const json = /<script id="data" type="application\/json">(.*?)<\/script>/s.exec(html)?.[1];
  assert.ok(json);
  return JSON.parse(json) as PageData;
}

/** The text that a reader sees, without scripts and styles. */
function bodyOf(html: string): string {
  return html.slice(html.indexOf("<body>")).replaceAll(/<script.*?<\/script>/gs, "");
}

function scalingResult(): RunResult {
  const points = [1, 2, 3, 4].flatMap((workers) =>
    [1, 2].map((repeat) =>
      samplePoint({
        label: `${workers} workers`,
        parameters: { worker_threads: workers, repeat },
        operations: { return: sampleOperation(3, (9_000 * workers) / (1 + 0.2 * (workers - 1))) },
      }),
    ),
  );
  return sampleResult({ points });
}

describe("reportHtml", () => {
  it("is one file: no address of anything else in it", () => {
    const html = reportHtml(sampleResult());
    assert.doesNotMatch(html.replaceAll(/<script>.*?<\/script>/gs, ""), /(?:src|href)\s*=|url\(|@import|https?:/);
    assert.match(html, /uPlot=function|var uPlot/);
  });

  it("names the hosts that generated the load, if agents did", () => {
    const { generator, ...point } = samplePoint();
    assert.doesNotMatch(bodyOf(reportHtml(sampleResult())), /generator host/);
    const clock = { clockOffsetMs: -1.25, clockUncertaintyMs: 0.4, minions: 250, cpuShare: 0.31 };
    const agents = ["a", "b"].map((host) => {
      return { host, address: `${host}.example.com:4530`, cores: 8, cpu: "a CPU", node: "v20.20.2", ...clock };
    });
    const body = bodyOf(reportHtml(sampleResult({ points: [{ ...point, generator: { ...generator, agents } }] })));
    for (const word of ["a (a.example.com:4530)", "b (b.example.com:4530)", "8 of a CPU", "31 %", "-1.3 ± 0.4 ms"])
      assert.ok(body.includes(word), word);
  });

  it("holds every series, class of operation and run", () => {
    const point = samplePoint({ operations: { return: sampleOperation(4), auth: sampleOperation(40) } });
    const points = [point, samplePoint({ label: "later" })];
    const { latency, series, scaling } = dataOf(reportHtml(sampleResult({ points })));
    const named = latency.map(({ title, lines }) => [title, lines.map(({ name }) => name)]);
    assert.deepEqual(named, [
      ["all runs, repeats together", ["storm: return", "storm: auth", "later: return"]],
      ["storm", ["return", "auth"]],
      ["later", ["return"]],
    ]);
    assert.deepEqual(series[0], { title: "storm", ...point.series });
    assert.equal(series.length, 2);
    assert.equal(scaling, undefined);
  });

  it("draws latency from the median to the slowest in percentiles of the histogram", () => {
    const operation = sampleOperation(4);
    const line = dataOf(reportHtml(sampleResult({ points: [samplePoint({ operations: { return: operation } })] })))
      .latency[0]?.lines[0];
    assert.ok(line);
    const at = (rarity: number): number => line.ms[line.oneIn.findIndex((oneIn) => oneIn >= rarity * 0.999)] ?? 0;
    assert.ok(Math.abs(at(100) - operation.percentilesUs.p99 / 1_000) < 0.5);
    assert.ok(Math.abs((line.ms.at(-1) ?? 0) - operation.percentilesUs.max / 1_000) < 0.1);
    assert.ok(line.ms.every((ms, index) => index === 0 || ms >= (line.ms[index - 1] ?? 0)));
  });

  it("draws throughput by workers with the law's curve, and says how far to believe it", () => {
    const html = reportHtml(scalingResult());
    const { scaling } = dataOf(html);
    assert.equal(scaling?.sides[0]?.measured.length, 8);
    const [first] = scaling?.sides[0]?.curve ?? [];
    assert.deepEqual([first?.[0], Math.round((first?.[1] ?? 0) / 100)], [1, 90]);
    assert.match(bodyOf(html), /contention σ 0\.200.*Trust: good/);
  });

  it("leaves void runs out of the curve and says at the top why", () => {
    const result = scalingResult();
    const [first] = result.points;
    assert.ok(first);
    first.generator = { ...first.generator, isVoid: true, voidReasons: ["the generator used all of its core"] };
    const html = reportHtml(result);
    assert.equal(dataOf(html).scaling?.sides[0]?.measured.length, 7);
    assert.match(bodyOf(html), /1 of 8 runs is void.*1 workers \(run 1\), void: the generator used all of its core/s);
  });

  it("shows a peer's runs and the comparisons beside ours", () => {
    const salt = { kind: "salt", version: "3007.15", config: {} } as const;
    const html = reportHtml(
      sampleResult({
        peers: [{ master: salt, points: [samplePoint()] }],
        comparisons: [
          {
            name: "CPU per return",
            baseline: "Salt 3007.15",
            candidate: "Saltworks 0.1.0",
            ratio: 0.0125,
            low: 0.011,
            high: 0.014,
            repeats: 6,
            verdict: "less",
          },
        ],
      }),
    );
    assert.deepEqual(
      dataOf(html).series.map(({ title }) => title),
      ["Saltworks 0.1.0: storm", "Salt 3007.15: storm"],
    );
    assert.match(bodyOf(html), /CPU per return.*0\.011 to 0\.014.*80 times less.*>6<.*less/s);
  });

  it("cuts CPU by what threads do, not by their number, in parts that sum to the whole", () => {
    const html = bodyOf(reportHtml(sampleResult()));
    const widths = [...html.matchAll(/style="width:([\d.]+)%"/g)].map(([, percent]) => Number(percent));
    assert.ok(Math.abs(widths.reduce((sum, percent) => sum + percent, 0) - 100) < 0.1);
    assert.match(html, /<i class="p0"><\/i>sw-worker<\/li><li><i class="p1"><\/i>saltworks/);
    assert.doesNotMatch(html, /sw-worker-0/);
  });

  it("lets no name or value become markup or script", () => {
    const hostile = `</script><script>alert(1)</script><img src=x onerror="alert(2)">'&`;
    const html = reportHtml(
      sampleResult({
        scenario: { name: hostile, version: 1, question: hostile, parameters: { [hostile]: hostile } },
        master: { kind: "saltworks", version: hostile, config: { [hostile]: { nested: hostile } } },
        advice: { masterConfig: hostile, remarks: [hostile] },
        points: [
          samplePoint({
            label: hostile,
            parameters: { worker_threads: 1 },
            operations: { [hostile]: sampleOperation(1) },
            cpu: { totalMs: 1, usPerOperation: 1, byThreadMs: { [hostile]: 1 } },
            series: { atMs: [0, 1], values: { [hostile]: [1, 2] } },
            correctness: { expected: 1, accounted: 0, missing: 1, duplicates: 0, errors: { [hostile]: 1 } },
            generator: { cpuShare: 1, loopDelayP99Ms: 1, lateSends: 1, isVoid: true, voidReasons: [hostile] },
            figures: { [hostile]: 1 },
          }),
        ],
      }),
    );
    assert.doesNotMatch(html, /<img|alert\(1\)<\/script>|<script>alert/);
    assert.equal(html.split("</script>").length, 4);
    assert.equal(dataOf(html).series[0]?.title, `${hostile}, void`);
  });

  it("says too few samples instead of a percentile that has none above it, and marks rough ones", () => {
    const few = { ...sampleOperation(4), completed: 40 };
    const html = bodyOf(reportHtml(sampleResult({ points: [samplePoint({ operations: { return: few } })] })));
    assert.equal(html.split("too few samples (40)").length - 1, 2);
    assert.match(html, /≈ [\d.]+<.*ten samples lie above/s);
  });

  it("says load, settings and load average before any figure", () => {
    const settings = { worker_threads: 2, job_cache_durability: "fsync" };
    const master = { ...sampleResult().master, settings };
    const html = bodyOf(reportHtml(sampleResult({ master })));
    const header = html.slice(0, html.indexOf("</header>"));
    assert.match(header, /minions=1000.*worker_threads=2, job_cache_durability=fsync.*load average 0\.3 at the start/s);
  });

  it("says whether a run is void because of the generator or of other programs", () => {
    const voided = (voidCause: "generator" | "machine") =>
      samplePoint({
        generator: { cpuShare: 0.5, loopDelayP99Ms: 1, lateSends: 9, isVoid: true, voidReasons: ["late"], voidCause },
      });
    const textOf = (...points: readonly Point[]) => bodyOf(reportHtml(sampleResult({ points: [...points] })));
    assert.match(
      textOf(voided("generator")),
      /1 of 1 runs is void: the load generator was the limit, not the master\./,
    );
    assert.match(textOf(voided("machine")), /1 of 1 runs is void: other programs took the machine\./);
    assert.match(textOf(voided("machine"), voided("generator")), /in 1 the load generator was .*; in 1 other programs/);
  });

  it("counts latency from the planned time in open loops only", () => {
    const from = (loop?: "open" | "closed"): string | undefined => {
      const operation = { ...sampleOperation(4), ...(loop && { loop }) };
      return dataOf(reportHtml(sampleResult({ points: [samplePoint({ operations: { return: operation } })] })))
        .latency[0]?.from;
    };
    assert.deepEqual([from("open"), from("closed"), from()], [" from the planned time", " from sending", ""]);
  });

  it("has no empty bars: CPU that was not divided by thread is one piece", () => {
    const whole = samplePoint({ cpu: { totalMs: 1, usPerOperation: 65, byThreadMs: {} } });
    const html = bodyOf(reportHtml(sampleResult({ points: [whole] })));
    assert.match(html, /class="bar"><span class="p0" style="width:100\.000%" title="all threads: 65 µs">/);
    assert.doesNotMatch(html, /class="bar"><\/div>/);
  });

  it("lists parameters and how the load was made apart from the figures", () => {
    const figures = { cpuUsPerReturn: 65, minions: 9, repliesVerified: 200 };
    const html = bodyOf(reportHtml(sampleResult({ points: [samplePoint({ parameters: { minions: 9 }, figures })] })));
    const of = (id: string): string => html.slice(html.indexOf(`id="${id}"`)).split("</section>")[0] ?? "";
    assert.match(of("figures"), /cpuUsPerReturn/);
    assert.doesNotMatch(of("figures"), /minions|repliesVerified/);
    assert.match(of("load"), /repliesVerified/);
  });

  it("shows no class of operations that had none", () => {
    const none = { ...sampleOperation(4), planned: 0, sent: 0, completed: 0 };
    const html = bodyOf(reportHtml(sampleResult({ points: [samplePoint({ operations: { hold: none } })] })));
    assert.ok(!html.includes('id="operations"') && !html.includes('id="latency"'));
    assert.match(html, /µs per minion/);
  });

  it("leaves out what a result does not have, rather than showing it empty", () => {
    const bare = samplePoint({ operations: {}, series: { atMs: [], values: {} }, figures: {} });
    const html = bodyOf(reportHtml(sampleResult({ points: [bare] })));
    for (const id of ["latency", "series", "figures", "scaling", "comparisons", "advice"]) {
      assert.ok(!html.includes(`id="${id}"`), id);
    }
    assert.match(html, /id="correctness"/);
  });
});

describe("the report of a master whose CPU and memory the bench could not see", () => {
  it("says so instead of 0", () => {
    const cpu = { totalMs: 0, usPerOperation: 0, byThreadMs: {} };
    const memory = { rssBytes: 0, peakRssBytes: 0 };
    const html = reportHtml(sampleResult({ points: [samplePoint({ cpu, memory, isUsageUnknown: true })] }));
    const cost = /id="cost".*?<\/section>/s.exec(html)?.[0] ?? "";
    assert.equal(cost.match(/>not seen</g)?.length, 4);
  });
});
