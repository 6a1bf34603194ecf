/** A master that runs already, ours or Salt's, on this or another host: what the bench can reach of it, without changing anything there. */
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { loadMasterConfig, type MasterConfig } from "../../../src/config/load.ts";
import { hasCode, SaltworksError } from "../../../src/errors.ts";
import { acceptedKeys } from "../../fleet/accepted-keys.ts";
import { idPrefixDefault } from "../../fleet/members.ts";
import { LocalClient } from "../../local-client.ts";
import type { MasterKind } from "../../results/schema.ts";
import { parseMetrics } from "../measures/prometheus.ts";
import type { MasterCounters, MasterUnderTest } from "./master-contract.ts";

export type RunningMaster = {
  readonly host: string;
  /** Default: the configuration's, else Salt's. */
  readonly ports?: { readonly publish: number; readonly request: number };
  /** Its configuration, if it runs on this machine: jobs, job cache and events are then reached as an operator does. */
  readonly configDirectory?: string;
  /** Its first process, if it runs on this machine. Default: the one of the configuration's `pidfile`. */
  readonly processId?: number;
  /** The metrics of a Saltworks master. */
  readonly metricsUrl?: string;
  /** Keys of minions that the master accepts already (`saltworks bench keys`). */
  readonly keyDirectory?: string;
};

const metricsTimeoutMs = 5_000;
const metricsTries = 3;
/** How long an operator has to accept the keys of the simulated minions. */
const acceptTimeoutMs = 600_000;
const saltPorts = { publish: 4_505, request: 4_506 };

/**
 * @throws SaltworksError MASTER_UNREACHABLE if nothing answers at its ports or metrics, USAGE for a process that does not run, CONFIG_UNREADABLE,
 * CONFIG_INVALID
 */
export async function openRunningMaster(running: RunningMaster): Promise<MasterUnderTest> {
  const config = running.configDirectory === undefined ? undefined : loadMasterConfig(running.configDirectory);
  const ports = running.ports ?? (config && { publish: config.publish_port, request: config.ret_port }) ?? saltPorts;
  const client = () => clientOf(running.host, ports.request, config);
  await demandAnswer(client(), `${running.host}:${ports.request}`);
  if (config !== undefined) demandNoOthers(config.pki_dir);
  const metricsUrl = running.metricsUrl ?? metricsUrlOf(config);
  if (metricsUrl !== undefined) await demandMetrics(metricsUrl);
  const processId = processIdOf(running, config);
  const counters = config === undefined ? undefined : await countersIfOurs(client, processId);
  const isOurs = metricsUrl !== undefined || counters !== undefined;
  const kind: MasterKind = isOurs ? "saltworks" : config === undefined ? "unknown" : "salt";
  const unreached = (what: string) => (): never => {
    throw new SaltworksError("USAGE", `the bench does not reach the ${what} of the master at ${running.host}`);
  };
  return {
    kind,
    version: "not told",
    host: running.host,
    usageFrom: processId !== undefined ? "process" : metricsUrl !== undefined ? "metrics" : "nowhere",
    get processId() {
      return processId ?? unreached("process")();
    },
    reach: {
      publishes: config !== undefined,
      isStoreRead: config !== undefined,
      isHeard: config !== undefined,
      acceptTimeoutMs,
      ...(running.keyDirectory === undefined ? {} : { keyDirectory: running.keyDirectory }),
    },
    requestPort: ports.request,
    publishPort: ports.publish,
    get socketDirectory() {
      return config?.sock_dir ?? unreached("events")();
    },
    get cacheDirectory() {
      return config?.cachedir ?? unreached("job cache")();
    },
    ...(running.configDirectory === undefined ? {} : { configDirectory: running.configDirectory }),
    ...(config === undefined ? {} : { pkiDirectory: config.pki_dir, logFile: config.log_file }),
    client: config === undefined ? unreached("operator's port") : client,
    restart: unreached("start"),
    logTail: () => "",
    ...(counters === undefined ? {} : { counters }),
    ...(metricsUrl === undefined ? {} : { metrics: () => readMetrics(metricsUrl) }),
    // It goes on after the bench.
    remove: () => Promise.resolve(),
  };
}

/** @throws SaltworksError MASTER_UNREACHABLE */
export async function readMetrics(url: string): Promise<string> {
  for (let tried = 1; ; tried += 1) {
    try {
      // Packing the text would cost the master more than the network does here.
      const headers = { "accept-encoding": "identity" };
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(metricsTimeoutMs) });
      if (response.ok) return await response.text();
      throw new Error(`HTTP ${response.status}`);
    } catch (error) {
      // One slow answer of a busy master must not end a run.
      if (tried < metricsTries) continue;
      throw new SaltworksError("MASTER_UNREACHABLE", `${url}: ${(error as Error).message}`);
    }
  }
}

/** Closes the client. */
export async function readCounters(client: LocalClient): Promise<MasterCounters> {
  try {
    const counters = await client.wheel("saltworks.counters");
    // Salt's master tells of an exception, as a text.
    if (!(counters instanceof Map)) throw new SaltworksError("REQUEST_REFUSED", "the master has no such counters");
    return {
      main: counters.get("main") as unknown as ReadonlyMap<string, number>,
      workers: counters.get("workers") as unknown as ReadonlyMap<string, number>[],
    };
  } finally {
    client.close();
  }
}

function clientOf(host: string, requestPort: number, config: MasterConfig | undefined): LocalClient {
  const own = config === undefined ? { cacheDirectory: "" } : { cacheDirectory: config.cachedir, user: config.user };
  return new LocalClient({ host, requestPort, ...own });
}

/** @throws SaltworksError USAGE if the operator has minions with names like the bench's */
function demandNoOthers(pkiDirectory: string): void {
  const simulated = new RegExp(`^${idPrefixDefault}[0-9]+$`);
  const other = acceptedKeys(pkiDirectory).find((id) => id.startsWith(idPrefixDefault) && !simulated.test(id));
  if (other === undefined) return;
  throw new SaltworksError(
    "USAGE",
    `the master has accepted ${other}, whose name begins like those of simulated minions (${idPrefixDefault}0, ${idPrefixDefault}1, ..)`,
  );
}

async function demandAnswer(client: LocalClient, address: string): Promise<void> {
  try {
    await client.ping();
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    throw new SaltworksError("MASTER_UNREACHABLE", `no master answers at ${address}: ${error.message}`);
  } finally {
    client.close();
  }
}

export async function demandMetrics(url: string): Promise<void> {
  const samples = parseMetrics(await readMetrics(url));
  if (samples.some(({ name }) => name === "process_cpu_seconds_total")) return;
  throw new SaltworksError("MASTER_UNREACHABLE", `${url} does not give the metrics of a Saltworks master`);
}

/** Undefined for a configuration without metrics. */
export function metricsUrlOf(config: MasterConfig | undefined): string | undefined {
  if (config === undefined || config.metrics_port === 0) return undefined;
  const host = config.metrics_interface.includes(":") ? `[${config.metrics_interface}]` : config.metrics_interface;
  return `http://${host}:${config.metrics_port}/metrics`;
}

/** Undefined for Salt's master, which does not have this function: a call would leave a traceback in its log. */
async function countersIfOurs(
  client: () => LocalClient,
  processId: number | undefined,
): Promise<(() => Promise<MasterCounters>) | undefined> {
  if (processId !== undefined && isPython(processId)) return undefined;
  try {
    await readCounters(client());
    return () => readCounters(client());
  } catch (error) {
    if (hasCode(error, "REQUEST_REFUSED")) return undefined;
    throw error;
  }
}

/** False also for a program of another user, which this one may not look at. */
function isPython(processId: number): boolean {
  try {
    return basename(readlinkSync(`/proc/${processId}/exe`)).startsWith("python");
  } catch {
    return false;
  }
}

function processIdOf({ processId }: RunningMaster, config: MasterConfig | undefined): number | undefined {
  if (processId !== undefined) {
    if (existsSync(`/proc/${processId}`)) return processId;
    throw new SaltworksError("USAGE", `--pid ${processId}: this machine has no such process`);
  }
  if (config === undefined || !existsSync(config.pidfile)) return undefined;
  const written = Number(readFileSync(config.pidfile, "utf8").trim());
  return Number.isInteger(written) && existsSync(`/proc/${written}`) ? written : undefined;
}
