/** Question: in which order must a master serve waiting authentications so that a storm ends? Simulates the master's queue and simpler ones. */
import { AuthQueue } from "../src/master/requests/auth-queue.ts";
import { itemKinds } from "../src/workers/batch/frames.ts";

/** Salt's `auth_timeout` and `auth_tries`, and the wait after the last try (`acceptance_wait_time`). */
const clientTimeoutMs = 5_000;
const triesMax = 7;
const restartWaitMs = 10_000;
const batchCount = 16;
/** A storm that has not ended after this time counts as endless. */
const endMs = 300_000;

type Request = { readonly minion: number; readonly sentMs: number };
/** A queue of requests; `take` gives at most a batch. */
type Policy = { offer(request: Request, nowMs: number): void; take(nowMs: number): Request[] };

function inTurn(isExpiring: boolean): Policy {
  const waiting: { request: Request; arrivedMs: number }[] = [];
  let first = 0;
  return {
    offer: (request, arrivedMs) => void waiting.push({ request, arrivedMs }),
    take: (nowMs) => {
      while (isExpiring && nowMs - (waiting[first]?.arrivedMs ?? nowMs) >= clientTimeoutMs) first += 1;
      const taken = waiting.slice(first, first + batchCount);
      first += taken.length;
      return taken.map(({ request }) => request);
    },
  };
}

function newestFirst(): Policy {
  const waiting: { request: Request; arrivedMs: number }[] = [];
  return {
    offer: (request, arrivedMs) => void waiting.push({ request, arrivedMs }),
    take: (nowMs) => {
      const taken = waiting.splice(-batchCount).reverse();
      return taken.filter(({ arrivedMs }) => nowMs - arrivedMs < clientTimeoutMs).map(({ request }) => request);
    },
  };
}

function mastersOwn(): Policy {
  const clock = { nowMs: 0 };
  const queue = new AuthQueue({
    slotCount: 1,
    batchesPerSlotMax: 1,
    authsMax: 1_000_000,
    clientTimeoutMs,
    isAccepted: () => true,
    knownKey: () => undefined,
    nowMs: () => clock.nowMs,
    forget: () => undefined,
  });
  const frame = Buffer.alloc(0);
  const requests = new Map<string, Request>();
  let sent = 0;
  return {
    offer: (request, queuedMs) => {
      sent += 1;
      requests.set(String(sent), request);
      const id = String(request.minion);
      queue.offer(0, {
        kind: itemKinds.ordinary,
        bytes: frame,
        connection: { number: sent, address: "", isProven: false, answeredMs: Number.NEGATIVE_INFINITY },
        id,
        pub: undefined,
        queuedMs,
      });
    },
    take: (nowMs) => {
      clock.nowMs = nowMs;
      const taken = queue.take(0, false);
      if (taken.length > 0) queue.settle(0);
      return taken.flatMap(({ connection }) => requests.get(String(connection.number)) ?? []);
    },
  };
}

type Storm = {
  readonly name: string;
  readonly minions: number;
  /** All minions ask within this time, and again when an answer came too late. */
  readonly withinMs: number;
  readonly perSecond: number;
  /** From a request's sending until a busy master reads it: time in sockets' buffers. */
  readonly hiddenMs: number;
};

/** The same random numbers for every policy. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

type Client = { tries: number; isDone: boolean; sentMs: number };

function simulate(policy: Policy, storm: Storm) {
  const random = generator(7);
  const clients: Client[] = Array.from({ length: storm.minions }, () => ({ tries: 0, isDone: false, sentMs: 0 }));
  /** Requests by the millisecond in which they are sent. */
  const sendings = new Map<number, number[]>();
  const send = (minion: number, atMs: number) => {
    const at = Math.ceil(atMs);
    sendings.set(at, [...(sendings.get(at) ?? []), minion]);
  };
  const arrivals = new Map<number, Request[]>();
  for (const minion of clients.keys()) send(minion, random() * storm.withinMs);
  const outcome = { done: 0, wasted: 0, lastMs: 0, givenUp: 0, triesMax: 0 };
  let workLeftMs = 0;
  for (let nowMs = 0; nowMs < endMs && outcome.done < storm.minions; nowMs += 1) {
    for (const minion of sendings.get(nowMs) ?? []) {
      const client = clients[minion];
      if (client === undefined || client.isDone) continue;
      client.tries += 1;
      client.sentMs = nowMs;
      outcome.triesMax = Math.max(outcome.triesMax, client.tries);
      const arriveMs = nowMs + Math.ceil(storm.hiddenMs * (0.5 + random()));
      arrivals.set(arriveMs, [...(arrivals.get(arriveMs) ?? []), { minion, sentMs: nowMs }]);
      const isLastTry = client.tries % triesMax === 0;
      if (isLastTry) outcome.givenUp += 1;
      send(minion, nowMs + clientTimeoutMs + (isLastTry ? restartWaitMs : 0) + 1);
    }
    sendings.delete(nowMs);
    for (const request of arrivals.get(nowMs) ?? []) policy.offer(request, nowMs);
    arrivals.delete(nowMs);
    for (workLeftMs += 1; workLeftMs > 0; ) {
      const batch = policy.take(nowMs);
      if (batch.length === 0) workLeftMs = 0;
      workLeftMs -= (batch.length / storm.perSecond) * 1_000;
      for (const { minion, sentMs } of batch) answer(clients[minion], sentMs, nowMs);
    }
  }
  return outcome;

  function answer(client: Client | undefined, sentMs: number, nowMs: number): void {
    if (client === undefined) return;
    // The minion has opened another socket by now, or has its answer.
    if (client.isDone || client.sentMs !== sentMs || nowMs - sentMs >= clientTimeoutMs) {
      outcome.wasted += 1;
      return;
    }
    client.isDone = true;
    outcome.done += 1;
    outcome.lastMs = nowMs;
  }
}

const storms: readonly Storm[] = [
  { name: "1,000 at once, 1,200 served a second", minions: 1_000, withinMs: 100, perSecond: 1_200, hiddenMs: 20 },
  { name: "20,000 at once", minions: 20_000, withinMs: 500, perSecond: 1_200, hiddenMs: 50 },
  { name: "20,000 at once, seen 1 s late", minions: 20_000, withinMs: 500, perSecond: 1_200, hiddenMs: 1_000 },
  { name: "20,000 over 10 s", minions: 20_000, withinMs: 10_000, perSecond: 1_200, hiddenMs: 300 },
];

for (const storm of storms) {
  const policies = {
    "in turn, nothing dropped": inTurn(false),
    "in turn, expired dropped": inTurn(true),
    "newest first": newestFirst(),
    "the master's": mastersOwn(),
  };
  for (const [policy, queue] of Object.entries(policies)) {
    const { done, wasted, lastMs, givenUp, triesMax: most } = simulate(queue, storm);
    const line = { bench: "auth-order", storm: storm.name, policy, minions: storm.minions, done };
    process.stdout.write(
      `${JSON.stringify({ ...line, lastS: lastMs / 1_000, wasted, triesMax: most, roundsGivenUp: givenUp })}\n`,
    );
  }
}
