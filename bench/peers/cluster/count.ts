/** Counts what a cluster lost, from its history and from what its members know afterwards. Pure. */
import type { History, Knowledge, Published, Subscribed } from "./history.ts";

/** `busy`: no fault, and more load. */
export type Fault = "none" | "busy" | "kill" | "stop" | "partition";

export type Losses = {
  readonly published: number;
  readonly refused: number;
  readonly unanswered: number;
  /** Minions of all jobs that a member took. */
  readonly expected: number;
  readonly acknowledged: number;
  /** Acknowledged returns that the member lacks to which the minion returned. */
  readonly lackedWhereAcknowledged: number;
  /** Acknowledged returns that at least one other member lacks. */
  readonly lackedElsewhere: number;
  /** Acknowledged returns that each member lacks. */
  readonly lackedBy: readonly number[];
  /** Jobs times minions that were subscribed at one member all the while, and never got the job. */
  readonly neverGot: number;
  /** Of these, the ones that came and that a minion drops because of their serial. */
  readonly neverGotForSerial: number;
  /** Jobs times minions that moved meanwhile, and never got the job. */
  readonly missedWhileMoving: number;
  /** Jobs times minions that got it a second time, which a stock minion drops if it remembers the job. */
  readonly gotTwice: number;
  readonly keysAccepted: number;
  /** Accepted keys that at least one other member does not have as accepted. */
  readonly keysUnknownElsewhere: number;
  readonly keysUnknownBy: readonly number[];
};

/** Before a publish and after its answer: a minion that moves in this time may miss it without a fault. */
const settledMs = { before: 500, after: 1_000 } as const;

export function countLosses(history: History, members: readonly Knowledge[]): Losses {
  const { acknowledged, acceptedKeys } = history;
  const lacks = (at: number, { jid, minion }: { jid: string; minion: string }) =>
    members[at]?.returns.get(jid)?.has(minion) !== true;
  const misses = (at: number, id: string) => members[at]?.acceptedKeys.has(id) !== true;
  const others = (own: number) => members.map((_, at) => at).filter((at) => at !== own);
  const count = (outcome: Published["outcome"]) => history.published.filter((job) => job.outcome === outcome).length;
  return {
    published: count("taken"),
    refused: count("refused"),
    unanswered: count("unanswered"),
    acknowledged: acknowledged.length,
    lackedWhereAcknowledged: acknowledged.filter((one) => lacks(one.member, one)).length,
    lackedElsewhere: acknowledged.filter((one) => others(one.member).some((at) => lacks(at, one))).length,
    lackedBy: members.map((_, at) => acknowledged.filter((one) => lacks(at, one)).length),
    ...countDeliveries(history),
    keysAccepted: acceptedKeys.length,
    keysUnknownElsewhere: acceptedKeys.filter((key) => others(key.member).some((at) => misses(at, key.id))).length,
    keysUnknownBy: members.map((_, at) => acceptedKeys.filter(({ id }) => misses(at, id)).length),
  };
}

function countDeliveries({ published, delivered, subscribed }: History) {
  const had = namesOf(delivered.filter(({ kind }) => kind === "first"));
  const stale = namesOf(delivered.filter(({ kind }) => kind === "stale"));
  const twice = namesOf(delivered.filter(({ kind }) => kind === "again"));
  const spansOf = (minion: string) => subscribed.filter((span) => span.minion === minion);
  let [expected, neverGot, neverGotForSerial, missedWhileMoving] = [0, 0, 0, 0];
  for (const job of published.filter(({ outcome }) => outcome === "taken")) {
    for (const minion of job.targets) {
      expected += 1;
      const name = nameOf({ jid: job.jid, minion });
      if (had.has(name)) continue;
      if (!isSettled(job, spansOf(minion))) {
        missedWhileMoving += 1;
        continue;
      }
      neverGot += 1;
      if (stale.has(name)) neverGotForSerial += 1;
    }
  }
  return { expected, neverGot, neverGotForSerial, missedWhileMoving, gotTwice: twice.size };
}

/** Whether one subscription lasted over the whole publish. */
function isSettled({ sentMs, endedMs }: Published, spans: readonly Subscribed[]): boolean {
  return spans.some(({ fromMs, toMs }) => fromMs <= sentMs - settledMs.before && toMs >= endedMs + settledMs.after);
}

const nameOf = ({ jid, minion }: { jid: string; minion: string }) => `${jid} ${minion}`;

function namesOf(all: readonly { readonly jid: string; readonly minion: string }[]): Set<string> {
  return new Set(all.map(nameOf));
}

/**
 * How long after the fault each member took a job again: another member after the fault began, the one that had it after the fault ended. Undefined: a
 * member did not.
 */
export function publishedAgainMs(
  { published }: Pick<History, "published">,
  { beganMs, endedMs, victim, members }: { beganMs: number; endedMs: number; victim: number; members: number },
): (number | undefined)[] {
  return Array.from({ length: members }, (_, at) => {
    const fromMs = at === victim ? endedMs : beganMs;
    const ends = published
      .filter(({ member, outcome, sentMs }) => member === at && outcome === "taken" && sentMs >= fromMs)
      .map((job) => job.endedMs);
    return ends.length === 0 ? undefined : Math.round(Math.min(...ends) - fromMs);
  });
}
