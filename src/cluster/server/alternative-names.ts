/** The names in a certificate under which its holder is reached: DNS names and addresses. Source: RFC 5280 section 4.2.1.6. Pure. */
import { isIP } from "node:net";
import { plainAddress } from "../../config/options/networks.ts";
import { implicit } from "../../crypto/der-writer.ts";
import { SaltworksError } from "../../errors.ts";

/** Labels with dots between; the last is not a number, so that a mistyped address is not taken for a name. */
const dnsName = /^(?:\w(?:[\w-]{0,61}\w)?\.)*(?!\d+$)\w(?:[\w-]{0,61}\w)?$/;
/** RFC 1035 section 2.3.4: 255 bytes with the lengths of labels. */
const dnsNameCharactersMax = 253;
const dnsNameTag = 2;
const addressTag = 7;

/**
 * One encoded GeneralName for each host, each once.
 *
 * @throws SaltworksError CONFIG_INVALID without hosts, and for one that is neither a DNS name nor an address
 */
export function alternativeNames(hosts: readonly string[]): Buffer[] {
  if (hosts.length === 0) throw new SaltworksError("CONFIG_INVALID", "a member of a cluster needs a name or address");
  const plain = hosts.map((host) => (isIP(host) === 0 ? host : plainAddress(host)));
  return [...new Set(plain)].map((host) => {
    const version = isIP(host);
    if (version !== 0) return implicit(addressTag, version === 4 ? ipv4Bytes(host) : ipv6Bytes(host));
    if (host.length > dnsNameCharactersMax || !dnsName.test(host)) {
      throw new SaltworksError("CONFIG_INVALID", `${JSON.stringify(host)} is neither a DNS name nor an address`);
    }
    return implicit(dnsNameTag, Buffer.from(host, "latin1"));
  });
}

function ipv4Bytes(address: string): Buffer {
  return Buffer.from(address.split(".").map(Number));
}

/** `URL` writes an address in its shortest form: hexadecimal groups, with at most one `::`. */
function ipv6Bytes(address: string): Buffer {
  const shortest = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [before = [], after = []] = shortest.split("::").map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex");
}
