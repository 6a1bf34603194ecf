/** Addresses and networks as Python's `ipaddress` writes, orders and judges them. */
import { type IpAddress, type IpNetwork, networkHolds, parseAddress, parseNetwork } from "../../python/ipaddress.ts";
import { pythonException } from "../functions/function-errors.ts";

const bitsOf = { 4: 32, 6: 128 } as const;

/** Shortest form: IPv6 with the first longest run of zero groups left out. */
export function formatAddress({ family, value }: IpAddress): string {
  if (family === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn));
  const { start, length } = longestZeroRun(groups);
  const hex = (part: readonly number[]) => part.map((group) => group.toString(16)).join(":");
  if (length < 2) return hex(groups);
  return `${hex(groups.slice(0, start))}::${hex(groups.slice(start + length))}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  let length = 0;
  for (const [index, group] of groups.entries()) {
    length = group === 0 ? length + 1 : 0;
    if (length > best.length) best = { start: index - length + 1, length };
  }
  return best;
}

export function formatNetwork(network: IpNetwork): string {
  return `${formatAddress(network)}/${network.prefixBits}`;
}

/** `address/mask` with host bits: the network it lies in. */
export function parseInterface(text: string): { address: IpAddress; parsed: IpNetwork; network: string } | undefined {
  const [host = "", mask] = text.split("/");
  const address = parseAddress(host);
  if (address === undefined) return undefined;
  // Any network of that mask tells the prefix; the address then tells which one.
  const zero = address.family === 4 ? "0.0.0.0" : "::";
  const prefixBits = mask === undefined ? bitsOf[address.family] : parseNetwork(`${zero}/${mask}`)?.prefixBits;
  if (prefixBits === undefined) return undefined;
  const hostBits = BigInt(bitsOf[address.family] - prefixBits);
  const parsed = { family: address.family, value: (address.value >> hostBits) << hostBits, prefixBits };
  return { address, parsed, network: formatNetwork(parsed) };
}

/** Dotted netmask; empty for a prefix that is none (Salt's answer, also for 0). */
export function maskOfPrefix(bits: number): string {
  if (!(bits >= 1 && bits <= 32)) return "";
  return formatAddress({ family: 4, value: (0xffff_ffffn << BigInt(32 - bits)) & 0xffff_ffffn });
}

/** The netmask as an address of the same family. */
export function netmaskOf({ family, prefixBits }: IpNetwork): string {
  const width = BigInt(bitsOf[family]);
  const all = (1n << width) - 1n;
  return formatAddress({ family, value: (all << (width - BigInt(prefixBits))) & all });
}

export function lastAddressOf({ family, value, prefixBits }: IpNetwork): string {
  return formatAddress({ family, value: value | ((1n << BigInt(bitsOf[family] - prefixBits)) - 1n) });
}

export function addressCountOf({ family, prefixBits }: IpNetwork): bigint {
  return 1n << BigInt(bitsOf[family] - prefixBits);
}

/** Numeric order; networks of one address by their prefix. */
export function compareAddresses(left: string, right: string): number {
  const [a, b] = [parseInterface(left), parseInterface(right)];
  if (a === undefined || b === undefined) return left.localeCompare(right);
  if (a.address.family !== b.address.family) return a.address.family - b.address.family;
  if (a.address.value !== b.address.value) return a.address.value < b.address.value ? -1 : 1;
  return a.parsed.prefixBits - b.parsed.prefixBits;
}

export function isLoopback(text: string): boolean {
  return isWithin(text, ["127.0.0.0/8", "::1/128"]);
}

/** Networks that Python takes for private: what IANA reserves for other than global use. */
const privateNetworks = (
  "0.0.0.0/8 10.0.0.0/8 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/29 192.0.0.170/31 192.0.2.0/24 192.168.0.0/16 " +
  "198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 " +
  "::1/128 ::/128 ::ffff:0:0/96 100::/64 2001::/23 2001:db8::/32 2001:10::/28 fc00::/7 fe80::/10"
).split(" ");

export function isPrivate(text: string): boolean {
  return isWithin(text, privateNetworks);
}

function isWithin(text: string, networks: readonly string[]): boolean {
  const address = parseAddress(text);
  if (address === undefined) return false;
  return networks.some((source) => {
    const network = parseNetwork(source);
    return network !== undefined && networkHolds(network, address);
  });
}

/** @throws SaltworksError FUNCTION_FAILED with Python's ValueError */
export function requireAddress(text: string): IpAddress {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw pythonException("ValueError", `'${text}' does not appear to be an IPv4 or IPv6 address`);
}

/** Name under which the DNS keeps the reverse of an address. */
export function reverseName(text: string): string {
  const { family, value } = requireAddress(text);
  if (family === 4) return `${text.split(".").reverse().join(".")}.in-addr.arpa`;
  return `${value.toString(16).padStart(32, "0").split("").reverse().join(".")}.ip6.arpa`;
}
