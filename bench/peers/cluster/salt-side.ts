/**
 * Three masters of Salt 3008 as a cluster with isolated file systems, on hosts of their own. Source: Salt's tutorial on master clusters, and what
 * 3008.4 does: the address of each master is its id, and they start one after the other, because masters that start at once may keep different keys.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { newClusterSecret } from "../../../src/cluster/secret.ts";
import { SaltworksError } from "../../../src/errors.ts";
import type { FaultNetwork } from "../../../test/cluster/faults/network.ts";
import { descriptorLimits } from "../../fleet/descriptors.ts";
import { MasterProcess } from "../../master-process.ts";
import { saltStored } from "../../scenarios/measures/accounting.ts";
import { readReturns } from "./returns.ts";
import { answerLimitMs, autosign, type Side, type SideCluster, type SideMember } from "./side.ts";

const startTriesMax = 3;
const readyLimitMs = 90_000;
const pollMs = 500;

type SaltOptions = { readonly venv: string; readonly version: string; readonly workers: number };

type Started = { readonly processes: MasterProcess[]; readonly directories: string[] };

type SaltMember = {
  readonly process: MasterProcess;
  readonly host: string;
  readonly keys: string;
  readonly venv: string;
};

const run = promisify(execFile);

export function saltSide(network: FaultNetwork, options: SaltOptions): Side {
  return { name: `salt ${options.version}`, open: () => open(network, options) };
}

/** Starts a cluster until one forms. */
async function open(network: FaultNetwork, options: SaltOptions): Promise<SideCluster> {
  for (let failedStarts = 0; ; failedStarts += 1) {
    const started: Started = { processes: [], directories: [] };
    try {
      await start(network, options, started);
      const { venv } = options;
      const members = started.processes.map((process, at) => {
        const [host = "", keys = ""] = [network.addresses[at], started.directories[at]];
        return memberOf({ process, host, keys, venv });
      });
      return { members, failedStarts, close: () => close(started) };
    } catch (error) {
      await close(started);
      if (!(error instanceof SaltworksError) || failedStarts + 1 >= startTriesMax) throw error;
    }
  }
}

async function start(network: FaultNetwork, { venv, workers }: SaltOptions, started: Started): Promise<void> {
  const secret = newClusterSecret();
  for (const [at, host] of network.addresses.entries()) {
    // Salt does not put this one below `root_dir`.
    const keys = await mkdtemp(join(tmpdir(), "sw-cluster-keys-"));
    started.directories.push(keys);
    const member = await MasterProcess.start({
      command: [...network.wordsFor(at), join(venv, "bin", "python3"), join(venv, "bin", "salt-master")],
      host,
      config: {
        id: host,
        cluster_id: "peer",
        cluster_secret: secret,
        cluster_isolated_filesystem: true,
        cluster_pki_dir: keys,
        cluster_peers: network.addresses.filter((other) => other !== host),
        autosign_file: `/${autosign.name}`,
        worker_threads: workers,
        log_level: "warning",
        log_level_logfile: "info",
      },
      descriptors: { least: 0, wanted: descriptorLimits().hard },
    });
    started.processes.push(member);
    writeFileSync(join(member.directory, autosign.name), autosign.content, { mode: 0o600 });
  }
  await untilReady(started);
}

/** Salt writes a file when a member may serve. @throws SaltworksError if they are not ready, or have different keys */
async function untilReady({ processes, directories }: Started): Promise<void> {
  const endMs = performance.now() + readyLimitMs;
  const isReady = ({ cacheDirectory }: MasterProcess) => existsSync(join(cacheDirectory, "health", "ready"));
  while (!processes.every(isReady)) {
    if (performance.now() > endMs)
      throw new SaltworksError("TASK_TIMEOUT", "the members of Salt's cluster do not get ready");
    await pause(pollMs);
  }
  const keys = new Set(directories.map((directory) => readFileSync(join(directory, "cluster.pub"), "utf8")));
  if (keys.size > 1)
    throw new SaltworksError("MASTER_UNREACHABLE", "the members of Salt's cluster have different keys");
}

async function close({ processes, directories }: Started): Promise<void> {
  await Promise.all(processes.map((member) => member.kill()));
  await Promise.all(processes.map((member) => member.remove()));
  await Promise.all(directories.map((directory) => rm(directory, { recursive: true, force: true })));
}

function memberOf({ process: member, host, keys, venv }: SaltMember): SideMember {
  return {
    address: { host, requestPort: member.requestPort },
    client: () => member.client(),
    kill: () => member.kill(),
    restart: () => member.restart(),
    acceptKey: (id) => acceptKey(venv, member.configDirectory, id),
    acceptedKeys: async () => new Set(await readdir(join(keys, "minions"))),
    signal: (signal) => void process.kill(-member.processId, signal),
    returns: (jids) => readReturns(saltStored(member), jids),
  };
}

/** By `salt-key`. Wheel functions of 3008.4 fail in a cluster. */
async function acceptKey(venv: string, configDirectory: string, id: string): Promise<void> {
  const args = ["-c", configDirectory, "-y", "-a", id, "--out=json"];
  const command = [join(venv, "bin", "salt-key"), ...args];
  let output: string;
  try {
    output = (await run(join(venv, "bin", "python3"), command, { timeout: answerLimitMs, killSignal: "SIGKILL" }))
      .stdout;
  } catch (cause) {
    throw new SaltworksError("FUNCTION_FAILED", "salt-key has failed", { id }, { cause });
  }
  if (!output.includes(id)) throw new SaltworksError("REQUEST_REFUSED", `${id} is not accepted`);
}
