/** Question: how long does it take from a publish of test.ping to all minions until the last return is stored, and what is the master's share? */
import { besideOthers } from "../load/self-check.ts";
import type { Point } from "../results/schema.ts";
import { account, duplicatesSeen } from "./measures/accounting.ts";
import { cpuOf, measured } from "./measures/measure.ts";
import { networkOf } from "./measures/network.ts";
import { storageOf } from "./measures/storage.ts";
import { defineScenario, type ScenarioContext } from "./scenario.ts";
import { histogramOf, oneByOne } from "./setup/operations.ts";
import {
  aboutStorm,
  demandStorm,
  type StormParameters,
  type StormSite,
  stormDefaults,
  versionConfig,
  withStorm,
} from "./setup/storm-setup.ts";

type PingAll = StormParameters & {
  readonly publishes: number;
  readonly warmUp: number;
  readonly delayMs: string;
  readonly seed: number;
};

const returnsTimeoutMs = 120_000;
const requestTimeoutMs = 10_000;
const triesMax = 3;

export const pingAll = defineScenario<PingAll>({
  name: "ping-all",
  version: 1,
  ownMaster: "has minions that answer every job, an operator's, too",
  question:
    "How long does it take from a publish of test.ping to all minions until the last return is stored, and what is the master's share of it?",
  defaults: { ...stormDefaults, publishes: 10, warmUp: 5, delayMs: "0", seed: 1 },
  about: {
    ...aboutStorm,
    publishes: "of test.ping to everybody, each when all returns to the one before are stored",
    warmUp: "publishes before them that do not count",
    delayMs: "how long each minion takes: 0, 0..100 or lognormal:50:0.5",
    seed: "of delays",
  },
  demand: (p, masterHost) => demandStorm(p, masterHost, p.minions),
  masterConfig: versionConfig,
  run(context) {
    const { parameters: p } = context;
    return withStorm(context, async (site) => {
      const own = { returnBytes: "64", delayMs: p.delayMs, seed: p.seed };
      await site.storm.respond({ ...own, timeoutMs: requestTimeoutMs, tries: triesMax });
      if (p.warmUp > 0) await publishAll(context, site, p.warmUp, "warm up");
      return [await ping(context, site)];
    });
  },
});

async function ping(context: ScenarioContext<PingAll>, site: StormSite): Promise<Point> {
  const { master, parameters: p, signal } = context;
  const duplicatesBefore = await duplicatesSeen(master);
  await site.storm.responded({ isReset: true });
  const { span, result } = await measured(master, signal, () => publishAll(context, site, p.publishes, "publishes"));
  const total = await site.storm.responded({ isReset: false });
  const { acknowledged, failed, timedOut, wrong, repeated } = total.counts;
  const replies = oneByOne(total.histogram, span.wallMs, { failed: failed + wrong, timedOut });
  const whole = oneByOne(histogramOf(result.lastReturnMs), span.wallMs);
  return {
    label: "test.ping to everybody",
    parameters: { ...p },
    wallMs: span.wallMs,
    operations: { return: replies, publishToLastReturn: whole },
    cpu: cpuOf(span, acknowledged),
    memory: span.memory,
    storage: storageOf(span, acknowledged),
    network: networkOf(total.traffic, acknowledged),
    series: span.series,
    correctness: await account(
      master,
      { jids: result.jids, ids: site.storm.ids() },
      {
        acknowledged,
        duplicatesBefore,
        errors: { "refused replies": failed, "no reply": timedOut, "wrong replies": wrong },
      },
    ),
    generator: besideOthers(total.generator, span.otherShare),
    figures: {
      publishToLastReturnMsMean: result.lastReturnMs.reduce((sum, ms) => sum + ms, 0) / result.lastReturnMs.length,
      masterCpuMsPerPublish: span.cpuMs / p.publishes,
      generatorCpuMsPerPublish: total.generatorCpuMs / p.publishes,
      masterShareOfCpu: span.cpuMs / Math.max(1, span.cpuMs + total.generatorCpuMs),
      returnsRepeated: repeated,
    },
  };
}

async function publishAll(
  { master, parameters: p, progress, signal }: ScenarioContext<PingAll>,
  site: StormSite,
  count: number,
  name: string,
): Promise<{ jids: string[]; lastReturnMs: number[] }> {
  const phase = progress.phase(name, count);
  const client = master.client();
  const jids: string[] = [];
  const lastReturnMs: number[] = [];
  try {
    const { counts } = await site.storm.responded({ isReset: false });
    let wanted = counts.acknowledged;
    for (let index = 0; index < count; index += 1) {
      signal.throwIfAborted();
      wanted += p.minions;
      const publishedAtMs = Date.now();
      jids.push((await client.publish("*", "test.ping")).jid);
      await site.storm.until("all returns", ({ acknowledged }) => acknowledged >= wanted, returnsTimeoutMs);
      const { counts: now } = await site.storm.responded({ isReset: false });
      const tookMs = now.lastReplyAtMs - publishedAtMs;
      lastReturnMs.push(tookMs);
      phase.step();
    }
    return { jids, lastReturnMs };
  } finally {
    client.close();
    phase.end();
  }
}
