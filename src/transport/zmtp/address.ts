/** The unit in which connections are counted by address: an IPv4 address, or the /64 of an IPv6 site. Pure. */
import { isIP } from "node:net";
import { plainAddress } from "../../config/options/networks.ts";

const groupsOfSite = 4;

export function addressKey(address: string): string {
  const plain = plainAddress(address);
  if (isIP(plain) !== 6) return plain;
  // "::" stands for as many groups of zeros as are missing.
  const [before = "", after] = plain.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const missing = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  return [...head, ...Array<string>(missing).fill("0"), ...tail].slice(0, groupsOfSite).join(":");
}
