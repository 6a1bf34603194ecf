/** What the operating system and the master's configuration have to allow for a plan, as text to copy. Pure. */
import type { FleetLoad } from "./load.ts";
import type { Needs } from "./plan.ts";

/** Kernel defaults that suit small fleets; a plan never proposes less. */
const leastOf = { backlog: 4_096, synBacklog: 4_096, fileMax: 262_144, open: 65_536, conntrack: 262_144 } as const;
/** Descriptors of all other programs of the machine. */
const otherDescriptors = 65_536;
/** Spare room for connections that are replaced while the old one is not closed yet. */
const replacedFactor = 1.5;
const minutesPerHour = 60;

export function masterConfig({ workerThreads }: Needs, { retentionHours }: FleetLoad): string {
  return [
    `worker_threads: ${workerThreads}`,
    `keep_jobs_seconds: ${Math.round(retentionHours * minutesPerHour * 60)}`,
    "",
  ].join("\n");
}

export function unitSettings({ descriptors }: Needs): string {
  return `[Service]\nLimitNOFILE=${openFiles(descriptors)}\n`;
}

/** After a restart of the master all minions connect within seconds. */
export function sysctls({ descriptors }: Needs, { minions }: FleetLoad): string {
  const connections = Math.ceil(2 * minions * replacedFactor);
  const atOnce = powerOfTwo(minions);
  return [
    `fs.file-max = ${Math.max(leastOf.fileMax, openFiles(descriptors) + otherDescriptors)}`,
    `fs.nr_open = ${Math.max(1_048_576, openFiles(descriptors))}`,
    `net.core.somaxconn = ${Math.max(leastOf.backlog, Math.min(65_535, atOnce))}`,
    `net.ipv4.tcp_max_syn_backlog = ${Math.max(leastOf.synBacklog, atOnce)}`,
    "# Minions behind one address translator share its ports: two of them each, from this range of theirs.",
    "net.ipv4.ip_local_port_range = 10240 65535",
    "# Only where connection tracking is loaded (a firewall with states, or containers):",
    `net.netfilter.nf_conntrack_max = ${Math.max(leastOf.conntrack, powerOfTwo(connections))}`,
    "",
  ].join("\n");
}

function openFiles(descriptors: number): number {
  return Math.max(leastOf.open, powerOfTwo(descriptors * replacedFactor));
}

function powerOfTwo(value: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, value)));
}
