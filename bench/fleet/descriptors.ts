/** How many sockets a process may have on this machine, and how large a fleet and its master may be. */
import { readFileSync } from "node:fs";
import { SaltworksError } from "../../src/errors.ts";

/** A simulated minion has two sockets. Each needs a TCP connection and the event descriptor of its ZeroMQ socket. */
const descriptorsPerMinion = 4;
/** Extra descriptors per minion, if the limit allows: a socket without a reply is replaced before ZeroMQ has closed it. */
const descriptorsPerReplacement = 2;
/** Node, ZeroMQ's threads and the connection to the parent. */
const spareDescriptors = 128;

export type DescriptorLimits = { readonly soft: number; readonly hard: number };

export function descriptorLimits(): DescriptorLimits {
  const row = /^Max open files\s+(\S+)\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  const number = (text: string | undefined): number => (text === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(text));
  return { soft: number(row?.[1]), hard: number(row?.[2]) };
}

export function minionsPerProcessMax(limits: DescriptorLimits): number {
  return Math.floor((limits.hard - spareDescriptors) / descriptorsPerMinion);
}

/** `least` is required. `wanted` has room to replace all request sockets at once, as after a restart of the master. */
export type DescriptorNeed = { readonly least: number; readonly wanted: number };

export function descriptorsForMinions(count: number): DescriptorNeed {
  const least = count * descriptorsPerMinion + spareDescriptors;
  return { least, wanted: least + count * descriptorsPerReplacement };
}

/** Descriptors of a master's threads, stores, files and event subscribers. */
const masterDescriptors = 512;

/** A master holds one descriptor per connection. */
export function descriptorsForMaster(minionCount: number): DescriptorNeed {
  const least = minionCount * 2 + masterDescriptors;
  return { least, wanted: least };
}

/**
 * Refuses a fleet with more connections than a master on this machine can hold, before a minion signs in. `canShare`:
 * several minions may share one connection.
 *
 * @throws SaltworksError QUEUE_FULL with what would fit
 */
export function demandRoomForMaster(
  minionCount: number,
  connections: number,
  canShare: boolean,
  { hard }: DescriptorLimits = descriptorLimits(),
): void {
  const room = hard - masterDescriptors;
  if (connections <= room) return;
  const most = Math.floor(room / 2);
  throw new SaltworksError(
    "QUEUE_FULL",
    `${minionCount} minions with ${connections} connections do not fit: a process may have ${hard} descriptors, ` +
      `so a master takes ${most} minions with two connections each${canShare ? `; let more of them share with connections=${most}` : ""}`,
    { minionCount, connections, hard },
  );
}

/** What the limits allow, as a sentence for the operator. */
export function describeLimits(limits: DescriptorLimits): string {
  const perProcess = minionsPerProcessMax(limits);
  return `descriptors: soft ${limits.soft}, hard ${limits.hard}: ${perProcess} minions per process, and a master of ${Math.floor((limits.hard - masterDescriptors) / 2)} minions`;
}

/**
 * A shell command that raises the descriptor limit and runs `command`: Node cannot raise its own limit.
 *
 * @throws SaltworksError QUEUE_FULL if the hard limit is lower
 */
export function withDescriptors(need: DescriptorNeed, command: readonly string[]): { file: string; args: string[] } {
  const limits = descriptorLimits();
  if (need.least > limits.hard) {
    throw new SaltworksError("QUEUE_FULL", `${need.least} descriptors needed; ${describeLimits(limits)}`);
  }
  const wanted = Math.max(Math.min(need.wanted, limits.hard), limits.soft);
  return { file: "/bin/sh", args: ["-c", 'ulimit -n "$0" && exec "$@"', String(wanted), ...command] };
}
