/** Established TCP connections, from the kernel's tables in /proc/net. */

import { formatAddress } from "../../../python/ipaddress.ts";
import { readTextIfAny } from "../machine/file-error.ts";

export type Connection = {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
};

const establishedState = 1;

export function establishedConnections(): Connection[] {
  const lines = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => (readTextIfAny(file) ?? "").split("\n").slice(1));
  return lines.flatMap((line) => {
    const [, local = "", remote = "", state = ""] = line.trim().split(/\s+/);
    if (Number.parseInt(state, 16) !== establishedState) return [];
    const [localAddress, localPort] = parseEnd(local);
    const [remoteAddress, remotePort] = parseEnd(remote);
    return [{ localAddress, localPort, remoteAddress, remotePort }];
  });
}

/** `0100007F:1F90`: words of 32 bits in the machine's byte order, here little-endian. IPv4 inside IPv6 is shown as IPv4. */
function parseEnd(text: string): [string, number] {
  const [hex = "", port = ""] = text.split(":");
  const words = hex.match(/.{8}/g) ?? [];
  const value = words.reduce(
    (sum, word) => (sum << 32n) | BigInt(`0x${(word.match(/../g) ?? []).reverse().join("")}`),
    0n,
  );
  const isMapped = words.length === 4 && value >> 32n === 0xffffn;
  const address =
    words.length === 1 || isMapped
      ? { family: 4 as const, value: value & 0xffff_ffffn }
      : { family: 6 as const, value };
  return [formatAddress(address), Number.parseInt(port, 16)];
}
