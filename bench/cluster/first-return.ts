/** Question: how much later is a job answered by a minion of another member than the publisher's, beside one master alone? By turns. */
import { LatencyHistogram } from "../load/histogram.ts";
import type { LocalClient } from "../local-client.ts";
import { startCluster } from "../members/cluster.ts";
import { say } from "../peers/program.ts";
import { masterConfigOf, startMaster } from "../scenarios/setup/master-under-test.ts";
import { addressesOf, openMinions, Waits } from "./fleet.ts";
import type { Address } from "./moving-minion.ts";
import { membersCount, runClusterBench } from "./program.ts";

const warmUpJobs = 20;
const answerLimitMs = 30_000;

type Side = {
  readonly name: string;
  turn(): Promise<{ readonly wholeMs: number; readonly returnMs: number }>;
  close(): void;
};

/** One minion, connected to the last of `members`. The operator is at the first. */
async function openSide(name: string, client: LocalClient, members: readonly Address[]): Promise<Side> {
  const waits = new Waits();
  const answered = new Map<string, { readonly atMs: number; readonly tookMs: number }>();
  const [minion] = await openMinions({
    count: 1,
    members,
    memberOf: () => members.length - 1,
    onAcknowledged: (_, jid, tookMs) => {
      answered.set(jid, { atMs: performance.now(), tookMs });
      waits.note();
    },
  });
  return {
    name,
    turn: async () => {
      const startedMs = performance.now();
      const { jid } = await client.publish("*", "test.ping");
      await waits.until(`the answer to ${jid}`, () => answered.has(jid), answerLimitMs);
      const { atMs = 0, tookMs = 0 } = answered.get(jid) ?? {};
      answered.clear();
      return { wholeMs: atMs - startedMs, returnMs: tookMs };
    },
    close: () => {
      minion?.close();
      client.close();
    },
  };
}

async function measure(sides: readonly Side[], jobs: number) {
  const figures = sides.map(({ name }) => ({ name, whole: new LatencyHistogram(), answer: new LatencyHistogram() }));
  for (let job = -warmUpJobs; job < jobs; job += 1)
    for (const [at, side] of sides.entries()) {
      const { wholeMs, returnMs } = await side.turn();
      if (job < 0) continue;
      figures[at]?.whole.recordMs(wholeMs);
      figures[at]?.answer.recordMs(returnMs);
    }
  return figures.map(({ name, whole, answer }) => ({
    name,
    publishToAcknowledgedUs: whole.percentilesUs(),
    publishHeardToAcknowledgedUs: answer.percentilesUs(),
  }));
}

await runClusterBench(
  "first-return",
  { jobs: { text: "jobs of each side, by turns", usual: 200 } },
  async ({ jobs, workers }) => {
    const choice = { kind: "saltworks", workers } as const;
    const alone = await startMaster(choice, masterConfigOf(choice, {}));
    const sides: Side[] = [];
    try {
      const cluster = await startCluster(membersCount, masterConfigOf(choice, {}));
      try {
        const members = cluster.members.map((member) => member.process);
        const first = members[0]?.client();
        if (first === undefined) throw new RangeError("no members");
        sides.push(await openSide("alone", alone.client(), addressesOf([alone])));
        sides.push(await openSide("another member", first, addressesOf(members)));
        const [own, other] = await measure(sides, jobs);
        const moreMs = ((other?.publishToAcknowledgedUs.p50 ?? 0) - (own?.publishToAcknowledgedUs.p50 ?? 0)) / 1_000;
        say(`the first return of a minion on another member comes ${moreMs.toFixed(1)} ms later at p50`);
        return { natsServer: cluster.natsServerVersion, sides: [own, other], moreMsP50: moreMs };
      } finally {
        for (const side of sides) side.close();
        await cluster.remove();
      }
    } finally {
      await alone.remove();
    }
  },
);
