/** Addresses of agents on the command line: `HOST:PORT`, `HOST` or `[IPv6]:PORT`. */
import { SaltworksError } from "../../src/errors.ts";

/** Beside Salt's ports 4505, 4506 and 4510 to 4520. */
export const agentPortDefault = 4_530;
/** Generator hosts of one bench. */
const agentsMax = 64;
const portMax = 65_535;

export type Address = { readonly host: string; readonly port: number };

/** @throws SaltworksError USAGE */
export function parseAddress(option: string, text: string): Address {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.%\w]+)\]|([^[\]:\s]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const number = port === undefined ? agentPortDefault : Number(port);
  if (host !== undefined && number <= portMax) return { host, port: number };
  throw new SaltworksError("USAGE", `${option} takes HOST:PORT, not '${text}'`);
}

/** @throws SaltworksError USAGE also for an address that is given twice, and for more than a bench may have */
export function parseAgents(option: string, text: string): Address[] {
  const addresses = text.split(",").map((part) => parseAddress(option, part.trim()));
  if (addresses.length > agentsMax) throw new SaltworksError("USAGE", `${option} takes at most ${agentsMax} agents`);
  for (const [index, address] of addresses.entries()) {
    if (address.port === 0) throw new SaltworksError("USAGE", `${option}: ${addressText(address)} has no port`);
    const isFirst = addresses.findIndex((other) => addressText(other) === addressText(address)) === index;
    if (!isFirst) throw new SaltworksError("USAGE", `${option} has ${addressText(address)} twice`);
  }
  return addresses;
}

export function addressText({ host, port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
