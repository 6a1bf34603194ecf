/** How many sockets this machine lets a process have, and what that means for a fleet and for its master. */
import { readFileSync } from "node:fs";
import { SaltworksError } from "../../src/errors.ts";

/** A simulated minion has two sockets; each is a TCP connection and the event descriptor of its ZeroMQ socket. */
const descriptorsPerMinion = 4;
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

export function descriptorsForMinions(count: number): number {
  return count * descriptorsPerMinion + spareDescriptors;
}

/** A master holds one descriptor per connection. */
export function descriptorsForMaster(minionCount: number): number {
  return minionCount * 2 + 512;
}

/** What the limits allow, in a sentence for whoever starts a fleet. */
export function describeLimits(limits: DescriptorLimits): string {
  const perProcess = minionsPerProcessMax(limits);
  return `descriptors: soft ${limits.soft}, hard ${limits.hard}: ${perProcess} minions per process, and a master of ${Math.floor((limits.hard - 512) / 2)} minions`;
}

/**
 * A command that runs `command` with room for `descriptors`: Node cannot raise its own limit, a shell can.
 *
 * @throws SaltworksError QUEUE_FULL if the hard limit is lower
 */
export function withDescriptors(descriptors: number, command: readonly string[]): { file: string; args: string[] } {
  const limits = descriptorLimits();
  if (descriptors > limits.hard) {
    throw new SaltworksError("QUEUE_FULL", `${descriptors} descriptors needed; ${describeLimits(limits)}`);
  }
  const wanted = Math.max(descriptors, limits.soft);
  return { file: "/bin/sh", args: ["-c", 'ulimit -n "$0" && exec "$@"', String(wanted), ...command] };
}
