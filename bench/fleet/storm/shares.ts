/** Spreads a fleet over hosts by their cores, and over processes of each host. Ids and keys stay those of one fleet. Pure. */
import type { StormHost } from "./host.ts";

/** One process is as fast as a master on two cores. More processes matter for signing in, which is RSA. */
const minionsPerProcess = 4_000;
export const spareDescriptors = 128;
/** Request, authentication and subscription. */
const descriptorsPerMinion = 3;

/** The minions of one process; `first`: within the fleet. */
export type Part = {
  readonly host: StormHost;
  readonly first: number;
  readonly count: number;
  readonly connections: number;
  readonly subscriptions: number;
};

type Size = {
  readonly minionCount: number;
  readonly connections: number;
  readonly subscriptions: number;
  /** Processes of all hosts together; each host has at least one. Default: as many as the minions and the descriptors need. */
  readonly processCount?: number;
};

export function splitFleet(size: Size, hosts: readonly StormHost[]): Part[] {
  const { minionCount } = size;
  const cores = hosts.reduce((sum, host) => sum + host.cores, 0);
  const parts: Part[] = [];
  let before = 0;
  for (const host of hosts) {
    const first = share(minionCount, before, cores);
    const count = share(minionCount, before + host.cores, cores) - first;
    before += host.cores;
    const processes = Math.min(count, processesOn(host, count, size, cores));
    for (let index = 0; index < processes; index += 1) {
      const from = first + share(count, index, processes);
      const to = first + share(count, index + 1, processes);
      parts.push({ host, ...partOf(size, from, to) });
    }
  }
  return parts;
}

function partOf({ minionCount, connections, subscriptions }: Size, from: number, to: number): Omit<Part, "host"> {
  return {
    first: from,
    count: to - from,
    connections: Math.max(1, share(connections, to, minionCount) - share(connections, from, minionCount)),
    subscriptions: Math.max(1, share(subscriptions, to, minionCount) - share(subscriptions, from, minionCount)),
  };
}

function processesOn(host: StormHost, count: number, size: Size, cores: number): number {
  if (size.processCount !== undefined) return Math.max(1, Math.round((size.processCount * host.cores) / cores));
  const perMinion = (descriptorsPerMinion * Math.max(size.connections, size.subscriptions)) / size.minionCount;
  const most = Math.floor((host.descriptorsMax - spareDescriptors) / perMinion);
  return Math.max(Math.ceil(count / minionsPerProcess), Math.ceil(count / Math.max(1, most)));
}

/** The part of `total` below `index` of `count`. */
export function share(total: number, index: number, count: number): number {
  return Math.floor((total * index) / count);
}
