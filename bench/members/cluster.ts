/** A cluster of our masters on this machine: each member and its nats-server are programs of their own, in private directories on free ports. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findNatsServer } from "../../src/cluster/server/program.ts";
import { hasCodeIn } from "../../src/config/files/system-errors.ts";
import { hasCode, SaltworksError } from "../../src/errors.ts";
import { descriptorLimits } from "../fleet/descriptors.ts";
import { freePorts } from "../free-ports.ts";
import { MasterProcess } from "../master-process.ts";
import { memberConfigs } from "./configs.ts";
import { startTogether } from "./together.ts";

type Config = Readonly<Record<string, unknown>>;

export type BenchMember = { readonly process: MasterProcess; readonly metricsUrl: string };

export type BenchCluster = {
  readonly natsServerVersion: string;
  readonly members: readonly BenchMember[];
  remove(): Promise<void>;
};

const clusterId = "bench";
const command = [process.execPath, fileURLToPath(new URL("../../src/cli/main.js", import.meta.url)), "master"] as const;

/** @throws SaltworksError USAGE without a `nats-server`, and what a start throws */
export async function startCluster(count: number, config: Config, signal?: AbortSignal): Promise<BenchCluster> {
  const natsServerVersion = await versionOfServer(config);
  const metricsPorts = await freePorts(count);
  const configs = await memberConfigs(count, { log_level: "warning", ...config }, undefined, clusterId);
  const own = configs.map((each, at): Config => ({ metrics_port: metricsPorts[at], ...each }));
  const descriptors = { least: 0, wanted: descriptorLimits().hard };
  const more = signal === undefined ? {} : { signal };
  const processes = await startTogether(
    own.map((each) => MasterProcess.start({ command, config: each, descriptors, ...more })),
  );
  const members = processes.map((process, at): BenchMember => {
    return { process, metricsUrl: `http://127.0.0.1:${Number(own[at]?.metrics_port)}/metrics` };
  });
  const remove = async () => {
    await Promise.all(processes.map((process) => process.remove()));
  };
  return { natsServerVersion, members, remove };
}

/** The process of the member's nats-server, which is a child of the member's. */
export function serverProcessId({ process: member }: Pick<BenchMember, "process">): number {
  return Number(readFileSync(join(member.cacheDirectory, "cluster", "nats-server.pid"), "utf8"));
}

/** Kills a member and its server, as when its machine is lost. */
export async function killMachine(member: Pick<BenchMember, "process">): Promise<void> {
  const serverId = serverProcessId(member);
  await member.process.kill();
  try {
    process.kill(serverId, "SIGKILL");
  } catch (error) {
    if (!hasCodeIn(error, "ESRCH")) throw error;
  }
}

async function versionOfServer({ cluster_nats_server: option }: Config): Promise<string> {
  try {
    const search = typeof option === "string" ? { option } : {};
    return (await findNatsServer({ ...search, environment: process.env })).version;
  } catch (error) {
    if (!hasCode(error, "PACKAGE_MISSING")) throw error;
    throw new SaltworksError("USAGE", `--members needs nats-server: ${(error as Error).message}`);
  }
}
