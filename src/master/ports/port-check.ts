/**
 * Checks the configured ports before anything is started: a port that cannot be opened ends the start with an error that names option and
 * cause. The fronts open the ports later, when the master can serve.
 */
import { createServer, type Server } from "node:net";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { portCheckTimeoutMs } from "../../limits.ts";
import { type PortFault, portFault, type WantedPort } from "../../transport/port-fault.ts";
import { errnoOf } from "../../transport/socket-path.ts";
import { hostAddress } from "./endpoint.ts";

type PortConfig = Pick<
  MasterConfig,
  "interface" | "publish_port" | "ret_port" | "metrics_interface" | "metrics_port" | "zmq_backlog"
>;
/** Descriptors of sockets that listen already, by the name of the port's option. */
export type OpenedPorts = ReadonlyMap<string, number>;

/**
 * @param already ports that are open and need no check
 * @throws SaltworksError MASTER_RUNNING if another process has one of the ports, PORT_UNUSABLE if the system refuses one; the message lists
 * all of them, each with its option and errno
 */
export async function checkPorts(config: PortConfig, already: OpenedPorts = new Map()): Promise<void> {
  await checkEach(wantedPorts(config).filter(({ option }) => !already.has(option)));
}

/**
 * The port of a member's `nats-server`, which only writes to its own log that it cannot have it. Looked at after a former server of this member has
 * ended.
 *
 * @throws SaltworksError as `checkPorts`
 */
export async function checkClusterPort(config: Pick<MasterConfig, "interface" | "cluster_pool_port">): Promise<void> {
  const { interface: host, cluster_pool_port: port } = config;
  await checkEach([{ option: "cluster_pool_port", addressOption: "interface", host, port }]);
}

async function checkEach(ports: readonly WantedPort[]): Promise<void> {
  const faults: PortFault[] = [];
  // Held open together, so that two options with the same port collide here.
  const opened: Server[] = [];
  try {
    for (const wanted of ports) {
      const found = await open(wanted);
      if (typeof found !== "string") opened.push(found);
      else faults.push(portFault(wanted, found));
    }
  } finally {
    await Promise.all(opened.map((server) => new Promise((resolve) => server.close(resolve))));
  }
  if (faults.length > 0) throw portsError(faults);
}

export function portsError(faults: readonly PortFault[]): SaltworksError {
  const isInUse = faults.every(({ errno }) => errno === "EADDRINUSE");
  const detail = { errno: faults[0]?.errno ?? "" };
  return new SaltworksError(
    isInUse ? "MASTER_RUNNING" : "PORT_UNUSABLE",
    faults.map(({ text }) => text).join("\n"),
    detail,
  );
}

export function wantedPorts(config: PortConfig): WantedPort[] {
  const host = config.interface;
  const ports: WantedPort[] = [
    { option: "publish_port", addressOption: "interface", host, port: config.publish_port },
    { option: "ret_port", addressOption: "interface", host, port: config.ret_port },
  ];
  const { metrics_interface: metricsHost, metrics_port: metricsPort } = config;
  if (metricsPort !== 0)
    ports.push({
      option: "metrics_port",
      addressOption: "metrics_interface",
      host: metricsHost,
      port: metricsPort,
    });
  return ports;
}

/** @returns the listening server, or the errno for which it cannot listen */
function open({ host, port }: WantedPort): Promise<Server | string> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    let isLate = false;
    // The lookup of a host name may hang on a silent name server.
    const timer = setTimeout(() => {
      isLate = true;
      resolve("ETIMEDOUT");
    }, portCheckTimeoutMs);
    server.on("error", (error) => {
      clearTimeout(timer);
      resolve(errnoOf(error) ?? error.message);
    });
    server.listen({ host: hostAddress(host), port, exclusive: true }, () => {
      clearTimeout(timer);
      if (isLate) server.close();
      else resolve(server);
    });
  });
}
