/** `saltworks cluster leave`: makes the other servers forget this one, and this master stand alone again. */
import { existsSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pino } from "pino";
import { connectCluster } from "../../../cluster/connection.ts";
import { ownMember } from "../../../cluster/own-server.ts";
import { leaveServers } from "../../../cluster/removal.ts";
import { accessTo } from "../../../cluster/server/access.ts";
import { readSettings } from "../../../config/files/settings.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import { clusterLeaveMs } from "../../../limits.ts";
import { removeIfThere, syncDirectory } from "../../../store/disk/durable-file.ts";
import { claimInstance } from "../../../store/disk/instance-lock.ts";
import { startClusterServer } from "../../daemon/cluster-server.ts";
import type { Host } from "../../host/host.ts";
import { isOwnFile, ownFilePath, removeOwnFile } from "./own-file.ts";

export type LeaveOptions = { readonly isYes: boolean; readonly isForced: boolean };

const refusedExitCode = 1;

/**
 * The master must be stopped. Its server runs meanwhile, because only a server of the cluster can ask the others.
 *
 * @returns the exit code
 * @throws SaltworksError MASTER_RUNNING while a master or witness has the directories, CLUSTER_UNAVAILABLE if too few servers answer
 */
export async function leaveCluster(config: MasterConfig, options: LeaveOptions, host: Host): Promise<number> {
  const { clusterId, name, directory } = ownMember(config);
  const lock = claimInstance([config.cachedir, config.pki_dir]);
  try {
    if (!options.isYes && !(await isConfirmed(clusterId, name, host))) return refusedExitCode;
    const told = await forgottenByOthers(config, name, options.isForced);
    const moved = moveAway(directory);
    // The file has the cluster's AES key and its serials. Without it the next start makes a key, under which serials begin anew.
    removeIfThere(join(config.pki_dir, ".secrets.sealed"));
    syncDirectory(config.pki_dir);
    host.write(`${told}${moved}The next start makes a new AES key, so that minions authenticate again.\n`);
    host.write(forgetConfiguration(config));
    return 0;
  } finally {
    lock.release();
  }
}

async function isConfirmed(clusterId: string, name: string, host: Host): Promise<boolean> {
  host.write(`${name} leaves the cluster ${clusterId}, and its copy of the cluster's records is moved away.\n`);
  host.write("Proceed? [N/y] ");
  const answer = await host.readLine();
  if (answer === undefined) host.complain("Error: EOF when reading a line; -y answers the question\n");
  return answer?.toLowerCase().startsWith("y") === true;
}

/** @returns what is to be said. @throws SaltworksError CLUSTER_UNAVAILABLE, unless `isForced` */
async function forgottenByOthers(config: MasterConfig, name: string, isForced: boolean): Promise<string> {
  try {
    const left = await askToForget(config, name);
    const advice =
      left % 2 === 0
        ? " With an even number it bears no more losses than with one server fewer: let another one join (docs/cluster.md)."
        : "";
    return `The cluster has forgotten ${name}. It has ${left} servers left.${advice}\nRemove this server from cluster_peers of the others.\n`;
  } catch (error) {
    if (!hasCode(error, "CLUSTER_UNAVAILABLE")) throw error;
    const why = (error as Error).message;
    if (isForced) return `The others still count ${name} as a server that is down: ${why}\n`;
    throw new SaltworksError(
      "CLUSTER_UNAVAILABLE",
      `${why}. With --force this master leaves all the same, and the others go on counting it`,
      {},
      { cause: error },
    );
  }
}

async function askToForget(config: MasterConfig, name: string): Promise<number> {
  const server = await startClusterServer(config, pino({ enabled: false }));
  if (server === undefined) throw new SaltworksError("CLUSTER_UNAVAILABLE", "this master has no server");
  try {
    const access = accessTo(server.access.port, server.keys, "system", name);
    const connection = await connectCluster({ ...access, name, waitMs: clusterLeaveMs });
    try {
      return await leaveServers(connection.nats, name);
    } finally {
      await connection.close();
    }
  } finally {
    await server.stop();
  }
}

/** Keeps the records beside their place, because they may be the last copy. @returns what is to be said */
function moveAway(directory: string): string {
  if (!existsSync(directory)) return "";
  const stamp = new Date().toISOString().replaceAll(/[:.]/g, "-");
  const target = join(dirname(directory), `${basename(directory)}-left-${stamp}`);
  renameSync(directory, target);
  syncDirectory(dirname(directory));
  return `The cluster's records are in ${target}.\n`;
}

/** Removes the file that `init` or `join` wrote. @returns what is to be said, with the lines that the operator must remove */
function forgetConfiguration(config: MasterConfig): string {
  const path = ownFilePath(config.configDir);
  const isOwn = isOwnFile(path);
  if (isOwn) removeOwnFile(path);
  const names = ["cluster_id", "cluster_secret", "cluster_peers"];
  const include = String(config.opts.get("default_include") ?? "");
  const settings = readSettings(config.configFile, include, []);
  const left = names.flatMap((name) => {
    const setting = settings.get(name);
    return setting === undefined ? [] : [`  ${setting.file}:${setting.line}: ${name}\n`];
  });
  const removed = isOwn ? `Removed ${path}.\n` : "";
  return left.length === 0
    ? removed
    : `${removed}Remove these lines before the next start, or the master joins again:\n${left.join("")}`;
}
