/** `saltworks cluster leave`: makes the other servers forget this one, and this master stand alone again. */
import { pino } from "pino";
import { ownMember } from "../../../cluster/asking/own-server.ts";
import { connectCluster } from "../../../cluster/connection.ts";
import type { Member } from "../../../cluster/member.ts";
import { claimStopped, standAlone } from "../../../cluster/membership/alone.ts";
import { isOwnFile, ownFilePath, removeOwnFiles } from "../../../cluster/membership/own-file.ts";
import { leaveServers } from "../../../cluster/membership/removal.ts";
import { accessTo } from "../../../cluster/server/access.ts";
import { readSettings } from "../../../config/files/settings.ts";
import { clusterOptions } from "../../../config/options/cluster.ts";
import type { MasterConfig } from "../../../config/schema.ts";
import { hasCode, SaltworksError } from "../../../errors.ts";
import { clusterLeaveMs } from "../../../limits.ts";
import { startOwnServer } from "../../daemon/cluster-server.ts";
import { Exit, interruptedExitCode } from "../../host/exit.ts";
import type { Host } from "../../host/host.ts";
import { untilInterrupted } from "../../host/until-interrupted.ts";
import { asUser, userToBecome } from "../../input/process-user.ts";

export type LeaveOptions = { readonly isYes: boolean; readonly isForced: boolean };

const refusedExitCode = 1;
/** MASTER_RUNNING: another program has the server's port. */
const unaskedCodes = ["CLUSTER_UNAVAILABLE", "PACKAGE_MISSING", "PORT_UNUSABLE", "MASTER_RUNNING"] as const;

/**
 * The master must be stopped. Its server runs meanwhile, because only a server of the cluster can ask the others.
 *
 * @returns the exit code
 * @throws Exit if this process is neither root nor the master's user; SaltworksError MASTER_RUNNING while a master or witness has the directories, CLUSTER_UNAVAILABLE if too few servers answer,
 * PACKAGE_MISSING, PORT_UNUSABLE or MASTER_RUNNING if its server cannot be started
 */
export async function leaveCluster(config: MasterConfig, options: LeaveOptions, host: Host): Promise<number> {
  const member = ownMember(config);
  const exitCode = await asUser(await userToBecome(config.user, host), () => leaveAlone(config, member, options, host));
  if (exitCode === 0) host.write(forgetConfiguration(config));
  return exitCode;
}

/** All but the configuration, which only root may be able to change. @returns the exit code */
async function leaveAlone(config: MasterConfig, member: Member, options: LeaveOptions, host: Host): Promise<number> {
  const { clusterId, name, directory } = member;
  const lock = claimStopped(config);
  try {
    if (!options.isYes && !(await isConfirmed(clusterId, name, host))) return refusedExitCode;
    const told = await forgottenByOthers(config, member, options.isForced, host);
    const records = standAlone(directory, config.pki_dir);
    const moved = records === undefined ? "" : `The cluster's records are in ${records}.\n`;
    host.write(`${told}${moved}The next start makes a new AES key, so that minions authenticate again.\n`);
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

/** @returns what is to be said. @throws SaltworksError with one of `unaskedCodes`, unless `isForced` */
async function forgottenByOthers(config: MasterConfig, member: Member, isForced: boolean, host: Host): Promise<string> {
  const { clusterId, name, operatorNats } = member;
  // It has no server that would count for a majority.
  if (operatorNats !== undefined)
    return `The records of the cluster ${clusterId} stay in NATS for its other members.\n`;
  try {
    const left = await askToForget(config, member, host);
    const bears = Math.ceil(left / 2) - 1;
    const advice =
      left % 2 === 0 ? `It may lose ${bears} of them, and ${bears + 1} once another one has joined.\n` : "";
    return `The cluster has forgotten ${name}. It has ${left} servers left.\n${advice}In cluster_peers of the others, name the server that takes this one's place.\n`;
  } catch (error) {
    if (!isUnasked(error)) throw error;
    const { code, message: why, detail } = error;
    if (isForced) return `The others may still count ${name} as a server that is down: ${why}\n`;
    const remedy = detail.mayRepeat === true ? ": repeat the command" : "";
    throw new SaltworksError(
      code,
      `${why}${remedy}. With --force this master leaves all the same, and the others go on counting it`,
      {},
      { cause: error },
    );
  }
}

/** Whether the others could not be asked, because too few answer or because this machine's server does not run. */
function isUnasked(error: unknown): error is SaltworksError {
  return unaskedCodes.some((code) => hasCode(error, code));
}

/** Ctrl-C ends the wait and the server, and the master stays a member. @throws Exit after Ctrl-C */
async function askToForget(config: MasterConfig, member: Member, host: Host): Promise<number> {
  const ended = () => {
    host.complain(
      `Interrupted: the others may have forgotten ${member.name}; run the command again, or start the master\n`,
    );
    throw new Exit(interruptedExitCode);
  };
  const server = await startOwnServer(config, member, pino({ enabled: false }));
  try {
    return await untilInterrupted(host, askThrough(server, member.name), ended);
  } finally {
    await server.stop();
  }
}

async function askThrough({ access, keys }: Awaited<ReturnType<typeof startOwnServer>>, name: string): Promise<number> {
  const ofSystem = accessTo(access.ports, keys, "system", name);
  const connection = await connectCluster({ ...ofSystem, name, waitMs: clusterLeaveMs });
  try {
    return await leaveServers(connection.nats, name);
  } finally {
    await connection.close();
  }
}

/** Removes the file that `init` or `join` wrote. @returns what is to be said, with the lines that the operator must remove */
function forgetConfiguration(config: MasterConfig): string {
  const path = ownFilePath(config.configDir);
  const isOwn = isOwnFile(path);
  if (isOwn) removeOwnFiles(config.configDir);
  const kept = ["cluster_pool_port", "cluster_nats_server", "cluster_join_timeout"];
  const names = Object.keys(clusterOptions).filter((name) => !kept.includes(name));
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
