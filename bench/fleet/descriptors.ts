/** How many sockets a process may have on this machine, and how large a fleet and its master can then be. */
import { readFileSync } from "node:fs";
import { SaltworksError } from "../../src/errors.ts";

/** A simulated minion has two sockets; each is a TCP connection and the event descriptor of its ZeroMQ socket. */
const descriptorsPerMinion = 4;
/** Extra descriptors per minion, if the limit allows: a socket without a reply is replaced, and ZeroMQ closes the old one later. */
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

/** `least` is needed; `wanted` leaves room for all request sockets to be replaced at once, as when a master is restarted. */
export type DescriptorNeed = { readonly least: number; readonly wanted: number };

export function descriptorsForMinions(count: number): DescriptorNeed {
  const least = count * descriptorsPerMinion + spareDescriptors;
  return { least, wanted: least + count * descriptorsPerReplacement };
}

/** Threads, stores, files and event subscribers of a master. */
const masterDescriptors = 512;

/** A master holds one descriptor per connection. */
export function descriptorsForMaster(minionCount: number): DescriptorNeed {
  const least = minionCount * 2 + masterDescriptors;
  return { least, wanted: least };
}

/**
 * Refuses a fleet whose connections a master on this machine could not hold, before a minion signs in. `canShare`: whether several minions
 * may have one connection.
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

/** What the limits allow, in a sentence for the operator. */
export function describeLimits(limits: DescriptorLimits): string {
  const perProcess = minionsPerProcessMax(limits);
  return `descriptors: soft ${limits.soft}, hard ${limits.hard}: ${perProcess} minions per process, and a master of ${Math.floor((limits.hard - masterDescriptors) / 2)} minions`;
}

/**
 * A command that runs `command` with room for its descriptors: Node cannot raise its own limit, a shell can.
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
