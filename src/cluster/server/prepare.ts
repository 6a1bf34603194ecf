/** Makes what a member's `nats-server` needs before it starts: directory, certificate, configuration; and ends a former one that a killed master left. */
import { chmodSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { SaltworksError } from "../../errors.ts";
import { clusterCertificateDays, clusterServerEndMs } from "../../limits.ts";
import { replaceDurably } from "../../store/disk/durable-file.ts";
import type { Member } from "../member.ts";
import type { ClusterKeys } from "../secret.ts";
import { loopbackHost } from "./access.ts";
import { mintCertificates } from "./certificates.ts";
import { chooseClientPorts, firstFreePort } from "./client-ports.ts";
import { type ServerFiles, serverConfiguration } from "./configuration.ts";
import { nkeyUser } from "./nkey-user.ts";

const privateMode = 0o600;
const directoryMode = 0o700;
const lookMs = 50;

export type PreparedServer = {
  readonly configurationFile: string;
  readonly logFile: string;
  /** On 127.0.0.1, for the master's own connections: the server listens on one of them. */
  readonly clientPorts: readonly number[];
  /**
   * Gives the server the first of these ports that is free, its latest one if possible. To call before each start.
   *
   * @returns the latest port if another program has it
   * @throws SaltworksError PORT_UNUSABLE if other programs have all of them
   */
  readonly takeFreePort: () => Promise<number | undefined>;
};

/** @throws SaltworksError CLUSTER_UNAVAILABLE if a former server does not end; the system's error if a file cannot be written */
export async function prepareServer(member: Member, keys: ClusterKeys, nowMs: number): Promise<PreparedServer> {
  const { directory } = member;
  mkdirSync(directory, { recursive: true, mode: directoryMode });
  chmodSync(directory, directoryMode);
  const files = serverFiles(directory);
  await endFormerServer(files);
  const { authority, certificate, key } = mintCertificates({
    authoritySeed: keys.authoritySeed,
    memberName: member.name,
    hosts: [...member.hosts, loopbackHost],
    nowMs,
    days: clusterCertificateDays,
  });
  replaceDurably(files.authority, authority, privateMode);
  replaceDurably(files.certificate, certificate, privateMode);
  replaceDurably(files.key, key, privateMode);
  const clientPorts = await chooseClientPorts();
  const users = { client: nkeyUser(keys.clientSeed).publicKey, system: nkeyUser(keys.systemSeed).publicKey };
  const configure = (port: number) =>
    replaceDurably(files.configuration, serverConfiguration(member, files, users, port), privateMode);
  let [latest = 0] = clientPorts;
  configure(latest);
  const takeFreePort = async () => {
    const port = await firstFreePort([latest, ...clientPorts]);
    if (port === latest) return undefined;
    if (port === undefined) {
      const text = `other programs have the ports ${clientPorts.join(", ")} of 127.0.0.1, which were free for the cluster's server when this member started: end them, or restart this member`;
      throw new SaltworksError("PORT_UNUSABLE", text);
    }
    const former = latest;
    // First, so that a write that fails is tried again before the next start.
    configure(port);
    latest = port;
    return former;
  };
  return { configurationFile: files.configuration, logFile: files.log, clientPorts, takeFreePort };
}

/** The files of a member's server in its directory. */
export function serverFiles(directory: string): ServerFiles {
  return {
    configuration: join(directory, "nats-server.conf"),
    authority: join(directory, "authority.pem"),
    certificate: join(directory, "member.pem"),
    key: join(directory, "member.key"),
    log: join(directory, "nats-server.log"),
    pid: join(directory, "nats-server.pid"),
    store: join(directory, "jetstream"),
  };
}

/** A master that was killed leaves its server, which holds the ports and the store. */
async function endFormerServer(files: ServerFiles): Promise<void> {
  const pid = formerServer(files);
  if (pid === undefined) return;
  endProcess(pid, "SIGTERM");
  for (let waitedMs = 0; formerServer(files) === pid; waitedMs += lookMs) {
    if (waitedMs >= 2 * clusterServerEndMs)
      throw new SaltworksError(
        "CLUSTER_UNAVAILABLE",
        `a former nats-server of this master (process ${pid}) does not end`,
      );
    if (waitedMs === clusterServerEndMs) endProcess(pid, "SIGKILL");
    await pause(lookMs);
  }
}

function endProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended meanwhile.
    if (hasCodeIn(error, "ESRCH")) return;
    const message = `a former nats-server of this master (process ${pid}) cannot be ended`;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", message, { pid }, { cause: error });
  }
}

/** @returns the id of a running server with this configuration */
function formerServer(files: ServerFiles): number | undefined {
  if (!existsSync(files.pid)) return undefined;
  const pid = Number(readFileSync(files.pid, "utf8").trim());
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
    return args.includes(files.configuration) ? pid : undefined;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT") || hasCodeIn(error, "ESRCH")) return undefined;
    throw error;
  }
}
