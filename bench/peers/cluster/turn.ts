/** One turn: a new cluster under load, one fault, and what its members know when all is mended. */
import { setTimeout as pause } from "node:timers/promises";
import { SaltworksError } from "../../../src/errors.ts";
import type { FaultNetwork } from "../../../test/cluster/faults/network.ts";
import { ignoreTimeout } from "../../cluster/fleet.ts";
import { type MinionKey, minionKey } from "../../fleet/keys.ts";
import { seededRandom } from "../../load/random.ts";
import { countLosses, type Fault, type Losses, publishedAgainMs } from "./count.ts";
import { History, type Knowledge } from "./history.ts";
import { OperatorLoad, type Rate } from "./load.ts";
import { RecordingMinion } from "./minion.ts";
import { acceptedPrefix, type Side, type SideCluster, type SideMember } from "./side.ts";

export type TurnOptions = {
  readonly network: FaultNetwork;
  readonly fault: Fault;
  /** The member that has the fault. */
  readonly victim: number;
  readonly minions: number;
  readonly holdMs: number;
  readonly rate: Rate;
  readonly primes: readonly string[];
};

export type TurnResult = Losses & {
  readonly victim: number;
  readonly failedStarts: number;
  /** Returns that no member had acknowledged in the end. */
  readonly unacknowledged: number;
  /** By member, the time until it took a job again; null: it did not in the time given. */
  readonly publishedAgainMs: readonly (number | null)[];
  /** Members that did not answer which keys they have. */
  readonly silentMembers: number;
};

/** Minions that come new, for the operator to accept. */
export const spareKeysMax = 120;

const signInLimitMs = 120_000;
const calmMs = 4_000;
const againLimitMs = 45_000;
const settleLimitMs = 15_000;
const pollMs = 1_000;

export async function takeTurn(side: Side, options: TurnOptions): Promise<TurnResult> {
  const cluster = await side.open();
  try {
    return await measure(cluster, options);
  } finally {
    await cluster.close();
  }
}

async function measure(cluster: SideCluster, options: TurnOptions): Promise<TurnResult> {
  const { members } = cluster;
  const { victim, primes, rate } = options;
  const history = new History();
  const key = (at: number): MinionKey => minionKey(primes, at);
  const ids = Array.from({ length: options.minions }, (_, at) => `${acceptedPrefix}${at}`);
  const addresses = members.map(({ address }) => address);
  const minions = ids.map(
    (id, at) => new RecordingMinion({ id, key: key(at), members: addresses, at: at % members.length, history }),
  );
  const spareKeys = Array.from({ length: spareKeysMax }, (_, at) => key(options.minions + at));
  const load = new OperatorLoad({ rate, members, history, minions: ids, spareKeys, random: seededRandom(victim + 1) });
  try {
    for (const minion of minions) minion.start();
    await until(signInLimitMs, "all minions are subscribed", () => minions.every(({ isSubscribed }) => isSubscribed));
    load.start();
    const span = await disturb(members, options);
    const again = () => publishedAgainMs(history, { ...span, victim, members: members.length });
    await until(againLimitMs, "each member publishes", () => !again().includes(undefined)).catch(ignoreTimeout);
    await load.stop();
    const unacknowledged = () => minions.reduce((sum, one) => sum + one.unacknowledged, 0);
    const { losses, silentMembers } = await settle(members, history, () => unacknowledged() === 0);
    return {
      ...losses,
      victim,
      failedStarts: cluster.failedStarts,
      unacknowledged: unacknowledged(),
      publishedAgainMs: again().map((ms) => ms ?? null),
      silentMembers,
    };
  } finally {
    await load.stop();
    await Promise.all(minions.map((minion) => minion.stop()));
  }
}

/** Calm, the fault, and as long without it. */
async function disturb(members: readonly SideMember[], { network, fault, victim, holdMs }: TurnOptions) {
  const member = members[victim];
  if (member === undefined) throw new RangeError(`no member ${victim}`);
  await pause(calmMs);
  const beganMs = performance.now();
  if (fault === "kill") await member.kill();
  if (fault === "stop") member.signal("SIGSTOP");
  if (fault === "partition") for (const other of members.keys()) if (other !== victim) network.cut(victim, other);
  await pause(holdMs);
  const endedMs = performance.now();
  if (fault === "kill") await member.restart();
  if (fault === "stop") member.signal("SIGCONT");
  network.heal();
  await pause(holdMs);
  return { beganMs, endedMs };
}

/** Asks until nothing is lost, or the limit is over: members may lag behind. */
async function settle(members: readonly SideMember[], history: History, isQuiet: () => boolean) {
  const endMs = performance.now() + settleLimitMs;
  for (;;) {
    const asked = await Promise.all(members.map((member) => knowledgeOf(member, history)));
    const silentMembers = asked.filter(({ acceptedKeys }) => acceptedKeys === undefined).length;
    const known = asked.map(({ returns, acceptedKeys = new Set<string>() }): Knowledge => ({ returns, acceptedKeys }));
    const losses = countLosses(history, known);
    const { lackedWhereAcknowledged, lackedElsewhere, keysUnknownElsewhere, neverGot } = losses;
    const isWhole = lackedWhereAcknowledged + lackedElsewhere + keysUnknownElsewhere + neverGot === 0;
    if ((isWhole && isQuiet()) || performance.now() > endMs) return { losses, silentMembers };
    await pause(pollMs);
  }
}

async function knowledgeOf(member: SideMember, { published }: History) {
  const returns = await member.returns(published.map(({ jid }) => jid));
  try {
    return { returns, acceptedKeys: await member.acceptedKeys() };
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return { returns, acceptedKeys: undefined };
  }
}

async function until(limitMs: number, what: string, isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!isSo()) {
    if (performance.now() > endMs) throw new SaltworksError("TASK_TIMEOUT", `not in ${limitMs} ms: ${what}`);
    await pause(pollMs / 10);
  }
}
