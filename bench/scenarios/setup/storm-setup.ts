/** First steps of every scenario with a storm: brings the minions up and publishes the jobs to which they return. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SaltworksError } from "../../../src/errors.ts";
import { EventSubscriber } from "../../../src/transport/event-stream-client.ts";
import { jidAt } from "../../../src/wire/jid.ts";
import { demandRoomForMaster } from "../../fleet/descriptors.ts";
import { demandKeys } from "../../fleet/keys.ts";
import { idPrefixDefault } from "../../fleet/members.ts";
import type { RequestVersion } from "../../fleet/minion-options.ts";
import { Storm, type StormOptions } from "../../fleet/storm/storm.ts";
import { isThisMachine } from "../../fleet/this-machine.ts";
import type { Phase, Progress, ScenarioContext } from "../scenario.ts";
import type { MasterUnderTest } from "./master-contract.ts";

/** Common parameters of scenarios with a storm; 0 means "as many as needed". */
export type StormParameters = {
  readonly minions: number;
  readonly version: number;
  readonly connections: number;
  readonly processes: number;
};

export const stormDefaults: StormParameters = { minions: 1_000, version: 3, connections: 0, processes: 0 };

export const aboutStorm: Readonly<Record<keyof StormParameters, string>> = {
  minions: "simulated minions",
  version: "request version: 0, 2 or 3",
  connections:
    "request connections that the minions share by turns, and as many subscriptions; 0: one of each for every minion",
  processes: "processes of the generator; 0: one for every 4,000 minions",
};

/** A master refuses old versions unless its configuration allows them. */
export function versionConfig({ version }: { version: number }): Record<string, unknown> {
  return version < 3 ? { minimum_auth_version: version } : {};
}

/** Operations of one run that the generator holds in memory: some 200 bytes each besides the sealed requests. */
const operationsMax = 10_000_000;

/**
 * `operations`: the most operations of one run, all lanes together. A master on another host has limits of its own, which are not known here.
 *
 * @throws SaltworksError QUEUE_FULL for more connections than the master may have, USAGE for more operations than fit
 */
export function demandStorm({ minions, connections }: StormParameters, masterHost: string, operations: number): void {
  const each = connections > 0 ? Math.min(connections, minions) : minions;
  if (isThisMachine(masterHost)) demandRoomForMaster(minions, 2 * each, true);
  if (operations <= operationsMax) return;
  const [asked, most] = [Math.round(operations), operationsMax].map((count) => count.toLocaleString("en-US"));
  throw new SaltworksError("USAGE", `${asked} operations in one run are too many: the generator holds ${most}`);
}

/** Passes the storm's progress to the phase that is under way. */
export class StormSite {
  readonly storm: Storm;
  readonly #telling: Telling;

  constructor(storm: Storm, telling: Telling) {
    this.storm = storm;
    this.#telling = telling;
  }

  /** Runs `work` as a phase of `total` operations; the storm reports its progress. */
  async phase<Result>(progress: Progress, name: string, total: number, work: () => Promise<Result>): Promise<Result> {
    const phase = progress.phase(name, total);
    this.#telling.phase = phase;
    this.#telling.done = 0;
    try {
      return await work();
    } finally {
      this.#telling.phase = undefined;
      phase.end();
    }
  }
}

type Telling = { phase: Phase | undefined; done: number };

/** Options of a storm. */
export type StormContext = ScenarioContext<StormParameters>;

/** Starts the whole storm for `work`, and always ends it. */
export async function withStorm<Result>(
  context: StormContext,
  work: (site: StormSite) => Promise<Result>,
  more: Pick<StormOptions, "versions"> = {},
): Promise<Result> {
  const site = await openStorm(context, more);
  try {
    return await work(site);
  } finally {
    await site.storm.close();
  }
}

async function openStorm(
  { master, parameters: p, progress, signal, agents }: StormContext,
  more: Pick<StormOptions, "versions">,
): Promise<StormSite> {
  const telling: Telling = { phase: progress.phase("sign in", p.minions), done: 0 };
  const onProgress = (done: number): void => {
    telling.phase?.step(Math.max(0, done - telling.done));
    telling.done = Math.max(done, telling.done);
  };
  try {
    if (master.reach?.keyDirectory !== undefined) demandKeys(master.reach.keyDirectory, p.minions);
    const storm = await Storm.open({
      masterHost: master.host,
      requestPort: master.requestPort,
      publishPort: master.publishPort,
      others: master.cluster?.members.slice(1, master.cluster.takerCount) ?? [],
      minionCount: p.minions,
      versions: [p.version as RequestVersion],
      ...more,
      onProgress,
      signal,
      ...(master.reach && { acceptTimeoutMs: master.reach.acceptTimeoutMs }),
      ...(master.reach?.keyDirectory !== undefined && { keyDirectory: master.reach.keyDirectory }),
      ...(agents === undefined ? {} : { hosts: agents }),
      ...(p.connections > 0 ? { connections: p.connections } : {}),
      ...(p.processes > 0 ? { processCount: p.processes } : {}),
      ...(master.sessionKey === undefined ? {} : { sessionKey: master.sessionKey }),
    });
    return new StormSite(storm, telling);
  } finally {
    telling.phase?.end();
    telling.phase = undefined;
  }
}

/** What `salt-call` and schedules return to: the master gives each such return a job id of its own. */
const ownAccordJid = "req";

/**
 * Publishes jobs to all minions. Where the bench cannot publish, minions return of their own accord: a Salt master refuses returns to jobs that it
 * has not published. The floor
 * publishes and stores nothing, so that any job id does for it.
 */
export async function publishJobs(
  { master, progress, signal }: Pick<StormContext, "master" | "progress" | "signal">,
  count: number,
  fun: string,
): Promise<string[]> {
  if (master.reach?.publishes === false) return Array.from({ length: count }, () => ownAccordJid);
  if (master.sessionKey !== undefined) {
    const nowMs = Date.now();
    return Array.from({ length: count }, (_, index) => jidAt(nowMs + index, 0));
  }
  const phase = progress.phase("publish jobs", count);
  const everybody = everybodyOf(master);
  const client = master.client();
  try {
    const jids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      signal.throwIfAborted();
      jids.push((await client.publish(everybody.expression, fun, [], everybody.kind)).jid);
      phase.step();
    }
    return jids;
  } finally {
    client.close();
    phase.end();
  }
}

/** Names all simulated minions. Minions that a running master has besides must not run the bench's functions. */
export function everybodyOf({ reach }: Pick<MasterUnderTest, "reach">) {
  if (reach === undefined) return { expression: "*", kind: "glob" } as const;
  return { expression: `${idPrefixDefault}[0-9]+$`, kind: "pcre" } as const;
}

/** `untilSeen`: resolves when this many returns were seen since the start, or after `catchUpMs`. Events come after the replies. */
export type Follower = {
  readonly counts: { returns: number; isLost: boolean };
  untilSeen(returns: number): Promise<void>;
  close(): void;
};

const returnTag = Buffer.from("/ret/");
/** `salt/job/<20 digits>` */
const returnTagOffset = 29;
/** A reader that is further behind has missed events. */
const catchUpMs = 10_000;
const lookMs = 10;

/** Subscribes to all events, as an operator's command does, because a master without a subscriber could skip that work. */
export async function follow(master: MasterUnderTest, signal?: AbortSignal): Promise<Follower> {
  const counts = { returns: 0, isLost: false };
  if (master.kind === "floor" || master.reach?.isHeard === false)
    return { counts, untilSeen: () => Promise.resolve(), close: () => {} };
  const subscriber = await EventSubscriber.connect(join(master.socketDirectory, "master_event_pub.ipc"), {
    onEvent: (body) => {
      const end = returnTagOffset + returnTag.length;
      // Other events may be shorter.
      if (body.byteLength >= end && returnTag.compare(body, returnTagOffset, end) === 0) counts.returns += 1;
    },
    onClose: () => {
      counts.isLost = true;
    },
  });
  const untilSeen = async (returns: number): Promise<void> => {
    const endMs = performance.now() + catchUpMs;
    while (counts.returns < returns && !counts.isLost && performance.now() < endMs)
      await delay(lookMs, undefined, signal && { signal });
  };
  return { counts, untilSeen, close: () => subscriber.close() };
}
