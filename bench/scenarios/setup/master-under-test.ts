/** Starts the master that a scenario drives, ours, real Salt's or the C floor, in a private directory. */
import { execFile, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SaltworksError } from "../../../src/errors.ts";
import { descriptorLimits } from "../../fleet/descriptors.ts";
import { freePorts } from "../../free-ports.ts";
import { thisTool } from "../../machine.ts";
import { MasterProcess, ownMasterHost } from "../../master-process.ts";
import { startFloor } from "../../peers/floor.ts";
import type { MasterKind } from "../../results/schema.ts";
import { startClusterUnderTest } from "./cluster-under-test.ts";
import type { MasterUnderTest } from "./master-contract.ts";
import { openRunningMaster, type RunningMaster, readCounters, readMetrics } from "./running-master.ts";

/** The master to start, as named on the command line. */
export type MasterChoice = {
  readonly kind: MasterKind;
  readonly workers?: number;
  /** Members of a cluster of ours; undefined: a master without one. */
  readonly members?: number;
  readonly config?: Readonly<Record<string, unknown>>;
  /** A virtual environment with Salt, for kind "salt". */
  readonly salt?: string;
  /** A master that runs already, instead of one to start. */
  readonly running?: RunningMaster;
};

/** Starts with other ports each time. */
const portTriesMax = 3;
const keyCommandTimeoutMs = 60_000;
const ourProgram = fileURLToPath(new URL("../../../src/cli/main.js", import.meta.url));

/** Options of every master, unless the scenario or the caller overrides them. */
const configBase = { auto_accept: true, log_level: "warning" };

/** The configuration that `startMaster` writes besides directories and ports. */
export function masterConfigOf(choice: MasterChoice, wanted: Readonly<Record<string, unknown>>) {
  const workers = choice.workers === undefined ? {} : { worker_threads: choice.workers };
  return { ...configBase, ...wanted, ...workers, ...choice.config };
}

/** @throws SaltworksError USAGE if the program is missing, MASTER_UNREACHABLE if it does not come up; the signal's reason after an abort */
export async function startMaster(
  choice: MasterChoice,
  config: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<MasterUnderTest> {
  if (choice.running !== undefined) return openRunningMaster(choice.running);
  if (choice.kind === "floor") return startFloor();
  const command = commandOf(choice);
  const isOurs = choice.kind === "saltworks";
  if (choice.members !== undefined) {
    const { members } = choice;
    const handle = (master: MasterProcess) => handleOf(master, choice.kind, versionOf(choice));
    return await withFreePorts(() => startClusterUnderTest(members, config, handle, signal));
  }
  // A master has to hold all connections of the scenario, so it gets the system's limit of descriptors.
  const descriptors = { least: 0, wanted: descriptorLimits().hard };
  const { master, own } = await withFreePorts(async () => {
    const [metricsPort = 0] = isOurs ? await freePorts(1) : [];
    const merged = isOurs ? { metrics_port: metricsPort, ...config } : config;
    const options = { command, config: merged, descriptors, ...(signal === undefined ? {} : { signal }) };
    return { master: await MasterProcess.start(options), own: merged };
  });
  const handle = handleOf(master, choice.kind, versionOf(choice));
  const deleteKey = (id: string) => runKeyCommand(choice, ["-c", master.configDirectory, "-d", id, "-y"]);
  const metricsUrl = `http://127.0.0.1:${Number(own.metrics_port)}/metrics`;
  const ours = { counters: () => readCounters(master.client()), metrics: () => readMetrics(metricsUrl) };
  // `Object.assign` keeps the getters of the target, so the process id is read anew each time.
  return Object.assign(handle, { deleteKey }, isOurs ? ours : {});
}

/** Another program may take a port between its choice and its use. */
async function withFreePorts<Result>(start: () => Promise<Result>): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await start();
    } catch (error) {
      const isTaken = error instanceof SaltworksError && /EADDRINUSE|[Aa]ddress already in use/.test(error.message);
      if (!isTaken || tried >= portTriesMax) throw error;
    }
  }
}

function commandOf({ kind, salt }: MasterChoice): string[] {
  if (kind === "saltworks") return [process.execPath, ourProgram, "master"];
  if (salt === undefined) throw new SaltworksError("USAGE", "a Salt master needs --salt VENV");
  const program = join(salt, "bin", "salt-master");
  if (!existsSync(program)) throw new SaltworksError("USAGE", `no salt-master in ${salt}`);
  return [program];
}

async function runKeyCommand(choice: MasterChoice, args: readonly string[]): Promise<void> {
  const command =
    choice.kind === "saltworks" ? [process.execPath, ourProgram, "key"] : [join(choice.salt ?? "", "bin", "salt-key")];
  const [program = "", ...first] = command;
  await promisify(execFile)(program, [...first, ...args], { timeout: keyCommandTimeoutMs });
}

/** `salt-master --version` prints "salt-master 3007.15 (Chlorine)". */
function versionOf(choice: MasterChoice): string {
  if (choice.kind === "saltworks") return thisTool().version;
  const [program = "", ...args] = commandOf(choice);
  const said = spawnSync(program, [...args, "--version"], { encoding: "utf8" }).stdout ?? "";
  return /\d[\w.]*/.exec(said)?.[0] ?? "unknown";
}

function handleOf(master: MasterProcess, kind: MasterKind, version: string): MasterUnderTest {
  return {
    kind,
    version,
    host: ownMasterHost,
    usageFrom: "process",
    // A restart changes the process id.
    get processId() {
      return master.processId;
    },
    requestPort: master.requestPort,
    publishPort: master.publishPort,
    socketDirectory: master.socketDirectory,
    cacheDirectory: master.cacheDirectory,
    configDirectory: master.configDirectory,
    pkiDirectory: master.pkiDirectory,
    logFile: join(master.directory, "log-file"),
    client: () => master.client(),
    restart: async ({ kill = false } = {}) => {
      if (kill) await master.kill();
      else await master.stop();
      await master.restart();
    },
    logTail: () => master.logTail(),
    remove: () => master.remove(),
  };
}
