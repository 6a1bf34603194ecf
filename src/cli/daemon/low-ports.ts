/**
 * Opens ports that only root may open, before a master becomes another user. The master's ports then use the open sockets. Clients that
 * connect meanwhile wait until the master serves.
 */
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hostAddress } from "../../master/ports/endpoint.ts";
import { type OpenedPorts, portsError, wantedPorts } from "../../master/ports/port-check.ts";
import { parseAddress } from "../../python/ipaddress.ts";
import { portFault } from "../../transport/port-fault.ts";
import { errnoOf } from "../../transport/socket-path.ts";

/** Default of `ip_unprivileged_port_start` in Linux. */
const usualFirstOpenPort = 1_024;
const firstOpenPortFile = "/proc/sys/net/ipv4/ip_unprivileged_port_start";

/** The first port that every user may open. */
function firstOpenPort(): number {
  try {
    return Number(readFileSync(firstOpenPortFile, "utf8"));
  } catch (error) {
    if (!hasCodeIn(error, "ENOENT", "EACCES")) throw error;
    return usualFirstOpenPort;
  }
}

/** @throws SaltworksError MASTER_RUNNING or PORT_UNUSABLE, as the check of the other ports does */
export async function openLowPorts(config: MasterConfig): Promise<OpenedPorts> {
  const opened = new Map<string, number>();
  const faults = [];
  const first = firstOpenPort();
  for (const wanted of wantedPorts(config)) {
    if (wanted.port === 0 || wanted.port >= first) continue;
    const found = await listenAtHost(wanted.host, wanted.port, config.zmq_backlog);
    if (typeof found === "number") opened.set(wanted.option, found);
    else faults.push(portFault(wanted, found));
  }
  // The failed start ends the process, which closes the opened sockets.
  if (faults.length > 0) throw portsError(faults);
  return opened;
}

/** @returns a descriptor, or the system's error code */
async function listenAtHost(host: string, port: number, backlog: number): Promise<number | string> {
  const { listenAt } = await import("../host/system-calls.ts");
  try {
    const { address: text } = await lookup(hostAddress(host));
    const address = parseAddress(text);
    if (address === undefined) return "EADDRNOTAVAIL";
    const zone = text.split("%")[1] ?? "";
    const scope = networkInterfaces()[zone]?.find((info) => info.family === "IPv6")?.scopeid ?? 0;
    return listenAt(address, port, backlog, scope);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return errno;
  }
}
