/** Reads, writes, orders and classifies addresses and networks as Python's `ipaddress` does: no leading zeros, no host bits. */
import { raised } from "./errors.ts";

export type IpAddress = { readonly family: 4 | 6; readonly value: bigint };
export type IpNetwork = IpAddress & { readonly prefixBits: number };

const v4Bits = 32;
const widthOf = { 4: v4Bits, 6: 128 } as const;

export function parseAddress(text: string): IpAddress | undefined {
  const v4 = parseV4(text);
  if (v4 !== undefined) return { family: 4, value: BigInt(v4) };
  const v6 = parseV6(text);
  return v6 === undefined ? undefined : { family: 6, value: v6 };
}

/** `address/bits`, or for IPv4 also `address/netmask` and `address/hostmask`; undefined if host bits are set. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [host = "", mask, ...rest] = text.split("/");
  const address = parseAddress(host);
  if (address === undefined || rest.length > 0) return undefined;
  const width = widthOf[address.family];
  const prefixBits = mask === undefined ? width : parsePrefix(mask, address.family);
  if (prefixBits === undefined) return undefined;
  const hostBits = BigInt(width - prefixBits);
  if ((address.value >> hostBits) << hostBits !== address.value) return undefined;
  return { ...address, prefixBits };
}

export function networkHolds(network: IpNetwork, address: IpAddress): boolean {
  if (network.family !== address.family) return false;
  const hostBits = BigInt(widthOf[network.family] - network.prefixBits);
  return network.value >> hostBits === address.value >> hostBits;
}

/** Whether the text is an address within the network. */
export function networkHoldsText(network: IpNetwork, text: string): boolean {
  const address = parseAddress(text);
  return address !== undefined && networkHolds(network, address);
}

function parsePrefix(mask: string, family: 4 | 6): number | undefined {
  if (/^[0-9]+$/.test(mask)) {
    const bits = Number(mask);
    return bits <= widthOf[family] ? bits : undefined;
  }
  const value = family === 4 ? parseV4(mask) : undefined;
  if (value === undefined) return undefined;
  for (let bits = 0; bits <= v4Bits; bits += 1) {
    const netmask = bits === 0 ? 0 : (0xffff_ffff << (v4Bits - bits)) >>> 0;
    if (value === netmask || value === ~netmask >>> 0) return bits;
  }
  return undefined;
}

function parseV4(text: string): number | undefined {
  const octets = text.split(".");
  if (octets.length !== 4) return undefined;
  let value = 0;
  for (const octet of octets) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(octet) || Number(octet) > 255) return undefined;
    value = value * 256 + Number(octet);
  }
  return value;
}

function parseV6(text: string): bigint | undefined {
  const [address = "", zone, ...rest] = text.split("%");
  if (zone === "" || zone?.includes("/") || rest.length > 0) return undefined;
  const halves = address.split("::");
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? "", halves.length === 1);
  const tail = parseGroups(halves[1] ?? "", true);
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...new Array<number>(missing).fill(0), ...tail];
  return groups.reduce((value, group) => (value << 16n) | BigInt(group), 0n);
}

/** Groups of 16 bits; at the end of the text the last may be an IPv4 address. */
function parseGroups(text: string, endsText: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const words = text.split(":");
  for (const [index, word] of words.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(word)) {
      groups.push(Number.parseInt(word, 16));
      continue;
    }
    const v4 = endsText && index === words.length - 1 ? parseV4(word) : undefined;
    if (v4 === undefined) return undefined;
    groups.push(v4 >>> 16, v4 & 0xffff);
  }
  return groups;
}

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

/** The network of `address/mask`, which may have host bits set. */
export function parseInterface(text: string): { address: IpAddress; parsed: IpNetwork; network: string } | undefined {
  const [host = "", mask] = text.split("/");
  const address = parseAddress(host);
  if (address === undefined) return undefined;
  // A network of zeros with that mask gives the prefix.
  const zero = address.family === 4 ? "0.0.0.0" : "::";
  const prefixBits = mask === undefined ? widthOf[address.family] : parseNetwork(`${zero}/${mask}`)?.prefixBits;
  if (prefixBits === undefined) return undefined;
  const hostBits = BigInt(widthOf[address.family] - prefixBits);
  const parsed = { family: address.family, value: (address.value >> hostBits) << hostBits, prefixBits };
  return { address, parsed, network: formatNetwork(parsed) };
}

/** Dotted netmask; empty for a number that is not a prefix and for 0, as in Salt. */
export function maskOfPrefix(bits: number): string {
  if (!(bits >= 1 && bits <= 32)) return "";
  return formatAddress({ family: 4, value: (0xffff_ffffn << BigInt(32 - bits)) & 0xffff_ffffn });
}

/** The netmask as an address of the same family. */
export function netmaskOf({ family, prefixBits }: IpNetwork): string {
  const width = BigInt(widthOf[family]);
  const all = (1n << width) - 1n;
  return formatAddress({ family, value: (all << (width - BigInt(prefixBits))) & all });
}

export function lastAddressOf({ family, value, prefixBits }: IpNetwork): string {
  return formatAddress({ family, value: value | ((1n << BigInt(widthOf[family] - prefixBits)) - 1n) });
}

export function addressCountOf({ family, prefixBits }: IpNetwork): bigint {
  return 1n << BigInt(widthOf[family] - prefixBits);
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

/** Networks that Python calls private: IANA reserves them for uses that are not global. */
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

/** @throws PYTHON_RAISED: a ValueError */
export function requireAddress(text: string): IpAddress {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw raised("ValueError", `'${text}' does not appear to be an IPv4 or IPv6 address`);
}

/** DNS name of an address's reverse entry. */
export function reverseName(text: string): string {
  const { family, value } = requireAddress(text);
  if (family === 4) return `${text.split(".").reverse().join(".")}.in-addr.arpa`;
  return `${value.toString(16).padStart(32, "0").split("").reverse().join(".")}.ip6.arpa`;
}
