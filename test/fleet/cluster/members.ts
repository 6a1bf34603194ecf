/** Members of one cluster as programs on this machine, for tests that drive them from outside. */
import { generateKeyPairSync } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { MinionKey } from "../../../bench/fleet/keys.ts";
import { freePorts } from "../../../bench/free-ports.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { startOurMaster } from "../our-master.ts";

type Config = Readonly<Record<string, unknown>>;

export const clusterId = "test";

export function createKey(): MinionKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  return { privateKey, publicPem: publicKey.export({ type: "spki", format: "pem" }).toString() };
}

/** @returns the configuration of each member */
export async function memberConfigs(count: number, config: Config, secret = newClusterSecret()): Promise<Config[]> {
  const ports = await freePorts(count);
  const peer = (port: number | undefined) => `127.0.0.1:${port}`;
  return ports.map((port, at) => ({
    id: `member${at + 1}`,
    cluster_id: clusterId,
    cluster_secret: secret,
    cluster_pool_port: port,
    cluster_peers: ports.filter((other) => other !== port).map(peer),
    worker_threads: 1,
    log_level: "info",
    ...config,
  }));
}

/** Starts all at once, because a first start needs two of three. If one fails, the others are removed. */
export async function startMembers(configs: readonly Config[]): Promise<MasterProcess[]> {
  const started = await Promise.allSettled(configs.map((config) => startOurMaster(20, config)));
  const members = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const fault = started.find((one) => one.status === "rejected");
  if (fault === undefined) return members;
  await Promise.all(members.map((member) => member.remove()));
  throw fault.reason;
}

/** Waits for a state that has no event of its own. */
export async function untilSo(what: string, isSo: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const endMs = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`not in time: ${what}`);
    await pause(50);
  }
}
