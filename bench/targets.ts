/** Question: how long does one worker take to match a target of each kind against its share of a large fleet, while grains are refreshed? */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openMinionData } from "../src/store/minions/data.ts";
import { encode } from "../src/wire/msgpack.ts";
import { Matcher } from "../src/workers/match/match.ts";
import type { MatchAnswer, MatchTask } from "../src/workers/messages/worker.ts";
import { MinionFacts } from "../src/workers/state/facts.ts";
import { LatencyHistogram } from "./load/histogram.ts";
import { thisMachine } from "./machine.ts";
import { seedMinionData } from "./targeting/seed.ts";
import { syntheticFacts, syntheticId, type TargetCase, targetCases } from "./targeting/synthetic-fleet.ts";

const { values } = parseArgs({
  options: {
    minions: { type: "string", default: "100000" },
    workers: { type: "string", default: "2" },
    samples: { type: "string", default: "300" },
    only: { type: "string" },
  },
});
const minions = Number(values.minions);
/** One in this number of minions belongs to this worker. */
const workers = Number(values.workers);
const samples = Number(values.samples);
/** Samples before the code is compiled; they do not count. */
const warmUps = 50;
const answerPollMs = 1;
let refreshes = 0;

const ids = Array.from({ length: Math.ceil(minions / workers) }, (_, at) => syntheticId(at * workers));
const directory = mkdtempSync(join(tmpdir(), "sw-targets-"));
try {
  await seedMinionData(directory, minions);
  const data = openMinionData({ path: join(directory, "minions.lmdb") });
  const accepted = new Set(ids);
  const facts = new MinionFacts(data, () => undefined);
  const matcher = new Matcher({
    facts,
    ownIds: function* () {
      yield* accepted;
    },
    ownAmong: (listed) => listed.filter((id) => accepted.has(id)),
    count: () => undefined,
  });
  const heapBefore = process.memoryUsage();
  const results: object[] = [];
  for (const target of targetCases(minions)) {
    if (values.only === undefined || values.only === target.name) results.push(await measure(matcher, facts, target));
  }
  const heapAfter = process.memoryUsage();
  const line = {
    bench: "targets",
    ...{ minions, workers, minionsOfThisWorker: ids.length, samples },
    ...{ results, gauges: matcher.gauges },
    heapGrownBytes: heapAfter.heapUsed + heapAfter.external - heapBefore.heapUsed - heapBefore.external,
    ...thisMachine(),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  await data.close();
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** Before each sample one minion reports changed grains, as between two jobs of a busy fleet. */
async function measure(matcher: Matcher, facts: MinionFacts, { name, kind, expression }: TargetCase): Promise<object> {
  const task: MatchTask = { kind: "match", target: encode(expression, "raw"), targetKind: kind, delimiter: ":" };
  const cpuBefore = process.cpuUsage();
  const firstStartedMs = performance.now();
  const first = await answered(matcher, task);
  const firstMs = performance.now() - firstStartedMs;
  const firstCpu = process.cpuUsage(cpuBefore);
  const histogram = new LatencyHistogram();
  const cpuHistogram = new LatencyHistogram();
  let refreshUs = 0;
  for (let sample = -warmUps; sample < samples; sample += 1) {
    refreshes += 1;
    const changed = syntheticFacts(refreshes * 31 + 1);
    const refreshStartedMs = performance.now();
    const stored = facts.keep(ids[(refreshes * 97) % ids.length] ?? "", changed.grains, changed.pillar);
    refreshUs += (performance.now() - refreshStartedMs) * 1_000;
    await stored;
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    const answer = await answered(matcher, task);
    const tookMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    if (sample < 0) continue;
    histogram.recordMs(tookMs);
    cpuHistogram.recordMs((user + system) / 1_000);
    if (answer.state !== "ready") throw new Error(`${name} was not matched`);
  }
  const { p50, p99, max } = histogram.percentilesUs();
  const cpu = cpuHistogram.percentilesUs();
  return {
    ...{ name, kind, expected: first.state === "ready" ? first.count : 0 },
    ...{ firstMs: Math.round(firstMs), firstCpuMs: Math.round((firstCpu.user + firstCpu.system) / 1_000) },
    ...{ p50Us: p50, p99Us: p99, maxUs: max, cpuP50Us: cpu.p50, cpuP99Us: cpu.p99 },
    ...{ refreshUsMean: Math.round(refreshUs / samples) },
  };
}

async function answered(matcher: Matcher, task: MatchTask): Promise<MatchAnswer> {
  for (;;) {
    const answer = matcher.match(task);
    if (answer.state !== "pending") return answer;
    await new Promise((resolve) => setTimeout(resolve, answerPollMs));
  }
}
