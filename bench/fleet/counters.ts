/** Counters of a simulated fleet, summed over processes: one for each kind of event between a minion and its master. */

/** Every counter with its meaning. */
export const counterNames = {
  up: "minions that are accepted, subscribed and announced",
  authsSent: "`_auth` requests",
  authsAccepted: "`_auth` replies that gave the keys and verified",
  authsPending: "`_auth` replies that said wait",
  authsRefused: "`_auth` replies that said no, full, or a bad algorithm",
  authsTimedOut: "`_auth` requests without a reply in time",
  authsInvalid: "`_auth` replies whose signature, nonce, token or keys were wrong",
  reauths: "times a minion that had been accepted authenticated again",
  pillars: "`_pillar` replies that opened, verified and held a map",
  startEvents: "start events that were acknowledged",
  publishesReceived: "publishes that came in on a subscription",
  publishesUnreadable: "publishes that did not open, also not after a new `_auth`",
  publishesReplayed: "publishes with a serial that was not new",
  publishesUnsigned: "publishes whose signature was wrong (counted once per process)",
  jobsMatched: "publishes that meant the minion that got them",
  jobsRepeated: "of those, job ids that the minion had had before, which it leaves out as Salt's does",
  findJobs: "of those, `saltutil.find_job`",
  returnsSent: "`_return` requests, repeats included",
  returnsAcknowledged: "`_return` replies that opened under the minion's own key",
  returnsRepeated: "`_return` requests sent again after silence",
  returnsLost: "returns given up after all tries",
  returnBytes: "bytes of sealed `_return` requests",
  requestsTimedOut: "sealed requests without a reply in time",
  repliesUnreadable: "replies to sealed requests that did not open",
} as const;

export type CounterName = keyof typeof counterNames;
export type FleetCounters = Record<CounterName, number>;

export function newCounters(): FleetCounters {
  return Object.fromEntries(Object.keys(counterNames).map((name) => [name, 0])) as FleetCounters;
}

export function addCounters(parts: Iterable<FleetCounters>): FleetCounters {
  const sum = newCounters();
  for (const part of parts) {
    for (const name of Object.keys(counterNames) as CounterName[]) sum[name] += part[name];
  }
  return sum;
}
