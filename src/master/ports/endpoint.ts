/** Addresses of the publish and request ports, and options of their connections, from Salt's configuration and ours. */
import { networkInterfaces } from "node:os";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { reservedDescriptors } from "../../limits.ts";
import type { Keepalive } from "../../transport/keepalive.ts";
import { openFilesLimit } from "../../transport/open-files.ts";

export type PortOptions = {
  readonly backlog: number;
  readonly keepalive: Keepalive;
  /** Most connections of one address; 0: unbounded. */
  readonly addressConnectionsMax: number;
  /** Networks to which that bound does not apply. */
  readonly proxies: MasterConfig["trusted_proxies"];
};

export function portOptions(config: MasterConfig): PortOptions {
  return {
    backlog: config.zmq_backlog,
    keepalive: {
      isOn: config.tcp_keepalive,
      idleSeconds: config.tcp_keepalive_idle,
      count: config.tcp_keepalive_cnt,
      intervalSeconds: config.tcp_keepalive_intvl,
    },
    addressConnectionsMax: config.connections_per_address_max,
    proxies: config.trusted_proxies,
  };
}

/** Interface and port as ZeroMQ writes them; port 0 lets the system choose. */
export function endpointOf(host: string, port: number): string {
  const address = host.includes(":") ? `[${host}]` : host;
  return `tcp://${address}:${port === 0 ? "*" : port}`;
}

/** Resolves an interface as ZeroMQ does: `*` is every address, and a network interface's name stands for its first IPv4 address. */
export function hostAddress(host: string): string {
  if (host === "*") return "0.0.0.0";
  return networkInterfaces()[host]?.find(({ family }) => family === "IPv4")?.address ?? host;
}

/** Most connections to one port: half of the process' file descriptors that are not reserved for other files. */
export function connectionsMax(): number {
  return Math.max(reservedDescriptors, (openFilesLimit() - reservedDescriptors) / 2);
}

/** An error that tells operators why a port cannot be opened. */
export function listenError(
  option: "publish_port" | "ret_port",
  error: NodeJS.ErrnoException,
  host: string,
  port: number,
): SaltworksError {
  const where = `cannot listen on ${host}:${port} (${option}, interface)`;
  const detail = { option, errno: error.code ?? "unknown", host, port };
  return new SaltworksError("MASTER_RUNNING", `${where}: ${error.code ?? error.message}`, detail, { cause: error });
}
