/** IPv4 and IPv6 addresses and networks as numbers, as strict as Python's `ipaddress`: no leading zeros, no host bits set. */

export type IpAddress = { readonly family: 4 | 6; readonly value: bigint };
export type IpNetwork = IpAddress & { readonly prefixBits: number };

const v4Bits = 32;
const v6Bits = 128;

export function parseAddress(text: string): IpAddress | undefined {
  const v4 = parseV4(text);
  if (v4 !== undefined) return { family: 4, value: BigInt(v4) };
  const v6 = parseV6(text);
  return v6 === undefined ? undefined : { family: 6, value: v6 };
}

/** `address/bits`, or for IPv4 also `address/netmask` and `address/hostmask`; undefined where host bits are set. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [host = "", mask, ...rest] = text.split("/");
  const address = parseAddress(host);
  if (address === undefined || rest.length > 0) return undefined;
  const width = address.family === 4 ? v4Bits : v6Bits;
  const prefixBits = mask === undefined ? width : parsePrefix(mask, address.family);
  if (prefixBits === undefined) return undefined;
  const hostBits = BigInt(width - prefixBits);
  if ((address.value >> hostBits) << hostBits !== address.value) return undefined;
  return { ...address, prefixBits };
}

export function networkHolds(network: IpNetwork, address: IpAddress): boolean {
  if (network.family !== address.family) return false;
  const hostBits = BigInt((network.family === 4 ? v4Bits : v6Bits) - network.prefixBits);
  return network.value >> hostBits === address.value >> hostBits;
}

function parsePrefix(mask: string, family: 4 | 6): number | undefined {
  if (/^[0-9]+$/.test(mask)) {
    const bits = Number(mask);
    return bits <= (family === 4 ? v4Bits : v6Bits) ? bits : undefined;
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

/** Groups of 16 bits; the last may be an IPv4 address where the text ends here. */
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
