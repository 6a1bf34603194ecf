/** Question: how long after a key is accepted at one member does another member answer its minion's `_auth` with the session? */
import { setTimeout as pause } from "node:timers/promises";
import { SaltworksError } from "../../src/errors.ts";
import { defaultKeyDirectory, loadPrimes, minionKey } from "../fleet/keys.ts";
import { Connection } from "../fleet/storm/connection.ts";
import { signIn } from "../fleet/storm/storm-minion.ts";
import { LatencyHistogram } from "../load/histogram.ts";
import type { LocalClient } from "../local-client.ts";
import { startCluster } from "../members/cluster.ts";
import { say } from "../peers/program.ts";
import { membersCount, runClusterBench } from "./program.ts";

/** Between two `_auth`s of a minion whose key waits. */
const askAgainMs = 5;
const limitMs = 30_000;
const warmUpKeys = 10;

type Site = { readonly client: LocalClient; readonly connection: Connection; readonly primes: readonly string[] };

/** From the operator's request, and from the answer to it, to the session. */
async function acceptOne({ client, connection, primes }: Site, index: number) {
  const id = `minion${index}`;
  const key = minionKey(primes, index);
  if ((await signIn(connection, id, key, 3)) !== undefined) throw new Error(`${id} has a session already`);
  // The other member has to know the pending key, as it does before an operator accepts it there.
  await untilPending(client, id);
  const startedMs = performance.now();
  let acceptedMs = Number.NaN;
  const accepting = client.wheel("key.accept", { match: id }).then(() => {
    acceptedMs = performance.now();
  });
  for (;;) {
    const isIn = (await signIn(connection, id, key, 3)) !== undefined;
    const nowMs = performance.now();
    if (isIn) {
      await accepting;
      return { fromRequestMs: nowMs - startedMs, fromAnswerMs: Math.max(0, nowMs - acceptedMs) };
    }
    if (nowMs - startedMs > limitMs) throw new SaltworksError("TASK_TIMEOUT", `${id} is not accepted elsewhere`);
    await pause(askAgainMs);
  }
}

async function untilPending(client: LocalClient, id: string): Promise<void> {
  const endMs = performance.now() + limitMs;
  for (;;) {
    const listed = await client.wheel("key.list", { match: "pre" });
    const pending = listed instanceof Map ? listed.get("minions_pre") : undefined;
    if (Array.isArray(pending) && pending.includes(id)) return;
    if (performance.now() > endMs) throw new SaltworksError("TASK_TIMEOUT", `${id} is not pending elsewhere`);
    await pause(askAgainMs);
  }
}

await runClusterBench(
  "accepted-key",
  { keys: { text: "keys, one after the other", usual: 200 } },
  async ({ keys, workers }) => {
    const primes = await loadPrimes(defaultKeyDirectory(), keys + warmUpKeys);
    const cluster = await startCluster(membersCount, { worker_threads: workers });
    const [first, second] = cluster.members;
    if (first === undefined || second === undefined) throw new RangeError("no members");
    const client = first.process.client();
    try {
      const port = second.process.requestPort;
      const connection = await Connection.open({ host: "127.0.0.1", port, type: "REQ" });
      const [fromRequest, fromAnswer] = [new LatencyHistogram(), new LatencyHistogram()];
      for (let index = 0; index < keys + warmUpKeys; index += 1) {
        const { fromRequestMs, fromAnswerMs } = await acceptOne({ client, connection, primes }, index);
        if (index < warmUpKeys) continue;
        fromRequest.recordMs(fromRequestMs);
        fromAnswer.recordMs(fromAnswerMs);
      }
      connection.close();
      const figures = { fromRequestUs: fromRequest.percentilesUs(), fromAnswerUs: fromAnswer.percentilesUs() };
      say(
        `the other member gives the session ${(figures.fromRequestUs.p99 / 1_000).toFixed(1)} ms after the request (p99)`,
      );
      return { natsServer: cluster.natsServerVersion, ...figures };
    } finally {
      client.close();
      await cluster.remove();
    }
  },
);
