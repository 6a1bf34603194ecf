/** Addresses of the configured masters. Source: Salt's option `master`: host, host:port, [IPv6]:port, or a list of them. */
import type { MinionConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";

export type MasterAddress = { readonly host: string; readonly port: number };

const addressPattern =
  /^(?:\[([0-9A-Fa-f:.]+)\]|([^:\s]+)|([0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*))(?::(\d{1,5}))?$/;

/** Addresses in the order in which the minion tries them. @throws SaltworksError CONFIG_INVALID */
export function masterAddresses(
  config: Pick<MinionConfig, "master" | "master_port" | "random_master">,
): MasterAddress[] {
  const names = typeof config.master === "string" ? [config.master] : config.master.map(String);
  const addresses = names.map((name) => parseAddress(name.trim(), config.master_port));
  if (addresses.length === 0) throw new SaltworksError("CONFIG_INVALID", "master: no master is named");
  return config.random_master ? shuffled(addresses) : addresses;
}

function parseAddress(name: string, defaultPort: number): MasterAddress {
  const match = addressPattern.exec(name);
  const host = match?.[1] ?? match?.[2] ?? match?.[3];
  const port = match?.[4] === undefined ? defaultPort : Number(match[4]);
  if (host === undefined || port < 1 || port > 65_535) {
    throw new SaltworksError("CONFIG_INVALID", `master: "${name}" is not host or host:port`, { value: name });
  }
  return { host, port };
}

export function endpointOf(host: string, port: number): string {
  return host.includes(":") ? `tcp://[${host}]:${port}` : `tcp://${host}:${port}`;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  const order = items.map((item) => ({ item, at: Math.random() }));
  return order.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
