/** Lists of addresses and networks as a configuration writes them: `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`. Pure. */
import { BlockList, isIP } from "node:net";

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Turns an IPv4-mapped IPv6 address into the IPv4 address, and removes a zone (`%eth0`). */
export function plainAddress(address: string): string {
  const plain = address.split("%")[0] ?? "";
  return mapped.exec(plain)?.[1] ?? plain;
}

type Network = { readonly address: string; readonly bits: number; readonly family: "ipv4" | "ipv6" };

function parseNetwork(entry: unknown): Network | undefined {
  if (typeof entry !== "string") return undefined;
  const [address = "", prefix, ...more] = entry.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0) return undefined;
  const widest = version === 4 ? 32 : 128;
  const bits = prefix === undefined ? widest : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= widest ? { address, bits, family: version === 4 ? "ipv4" : "ipv6" } : undefined;
}

/** @returns a message about the first entry that is neither an address nor a network */
export function networksFault(entries: readonly unknown[]): string | undefined {
  const wrong = entries.find((entry) => parseNetwork(entry) === undefined);
  return wrong === undefined ? undefined : `${JSON.stringify(wrong)} is neither an address nor a network`;
}

/** Returns a test for addresses that lie in one of the entries. Ignores entries that `networksFault` reports. */
export function networkMatcher(entries: readonly unknown[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of entries.map(parseNetwork)) {
    if (network !== undefined) list.addSubnet(network.address, network.bits, network.family);
  }
  return (address) => {
    const plain = plainAddress(address);
    const version = isIP(plain);
    return version !== 0 && list.check(plain, version === 6 ? "ipv6" : "ipv4");
  };
}
