/** Grains about the network: names, addresses, gateways, resolver. Source: values of Salt 3007 on the same machine. */
import { lookup, lookupService } from "node:dns/promises";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { within } from "../../../deadline.ts";
import { probeTimeoutMs } from "../../../limits.ts";
import { formatAddress, netmaskOf, parseAddress, parseInterface } from "../../../python/ipaddress.ts";
import { readTextIfAny } from "../machine/file-error.ts";
import { type Interfaces, readInterfaces, sortedAddresses } from "../machine/interfaces.ts";
import { runProgram } from "../machine/run-program.ts";
import type { Grains } from "./os.ts";

export async function networkGrains(resolvesFqdns: boolean): Promise<Grains> {
  const interfaces = await readInterfaces();
  const fqdn = await fullHostName();
  const [host = "", ...domain] = fqdn.split(".");
  const faces = [...interfaces.values()];
  const ipv4 = sortedAddresses(faces, "inet", true);
  const ipv6 = sortedAddresses(faces, "inet6", true);
  return {
    ...(await gatewayGrains()),
    dns: resolverSettings(),
    fqdns: resolvesFqdns ? await reverseNames(interfaces) : [],
    localhost: hostname(),
    fqdn,
    host,
    domain: domain.join("."),
    ...interfaceGrains(interfaces),
    ipv4,
    ipv6,
    fqdn_ip4: ipv4.length === 0 ? [] : await addressesOfName(fqdn, 4),
    fqdn_ip6: ipv6.length === 0 ? [] : await addressesOfName(fqdn, 6),
  };
}

/** The canonical name of this host, from its resolver. */
export async function fullHostName(): Promise<string> {
  const asked = await runProgram("hostname", ["-f"]);
  return (asked.exitCode === 0 && asked.stdout.trim()) || hostname() || "localhost.localdomain";
}

/** The first name with a dot that the resolver has for this host's own address, else its first name. Source: Python's `getfqdn`. */
export async function dottedHostName(): Promise<string> {
  const own = hostname();
  const [address] = (await runProgram("getent", ["hosts", own])).stdout.split(/\s+/);
  if (address === undefined || address === "") return own;
  const [, ...names] = (await runProgram("getent", ["hosts", address])).stdout.split("\n")[0]?.split(/\s+/) ?? [];
  return names.find((name) => name.includes(".")) ?? names[0] ?? own;
}

function interfaceGrains(interfaces: Interfaces): Grains {
  const hardware: Grains = {};
  const [four, six, both]: [Grains, Grains, Grains] = [{}, {}, {}];
  for (const [name, face] of interfaces) {
    if (face.hwaddr !== undefined) hardware[name] = face.hwaddr;
    const second = (kind: "inet" | "inet6") => (face.secondary ?? []).filter((entry) => entry.type === kind);
    const addresses = (list: readonly { address: string }[] = []) => list.map(({ address }) => address);
    four[name] = [...addresses(face.inet), ...addresses(second("inet"))];
    six[name] = [...addresses(face.inet6), ...addresses(second("inet6"))];
    both[name] = [...addresses(face.inet), ...addresses(face.inet6), ...addresses(face.secondary)];
  }
  return { hwaddr_interfaces: hardware, ip4_interfaces: four, ip6_interfaces: six, ip_interfaces: both };
}

/** Empty without the program `ip`. A default route without a gateway address counts as True. */
async function gatewayGrains(): Promise<Grains> {
  const [four, six] = [await defaultGateway("-4"), await defaultGateway("-6")];
  if (four === undefined || six === undefined) return {};
  return { ip_gw: four !== false || six !== false, ip4_gw: four, ip6_gw: six };
}

async function defaultGateway(family: "-4" | "-6"): Promise<string | boolean | undefined> {
  const asked = await runProgram("ip", [family, "route", "show"]);
  if (!asked.isFound) return undefined;
  const words = asked.stdout
    .split("\n")
    .find((line) => line.startsWith("default"))
    ?.split(/\s+/);
  if (words === undefined) return false;
  return words[1] === "via" ? (words[2] ?? true) : true;
}

/** Gives up after `probeTimeoutMs`, so that a resolver that does not answer does not delay the minion's start. */
function withinDeadline<Result>(work: Promise<Result>, otherwise: Result): Promise<Result> {
  const resolved = work.catch((error: unknown) => ifUnresolved(error, otherwise));
  return within(resolved, probeTimeoutMs, () => otherwise);
}

function ifUnresolved<Result>(error: unknown, otherwise: Result): Result {
  if (error instanceof Error && "syscall" in error && "code" in error) return otherwise;
  throw error;
}

async function addressesOfName(name: string, family: 4 | 6): Promise<string[]> {
  const found = await withinDeadline(lookup(name, { family, all: true }), []);
  return [...new Set(found.map(({ address }) => address))];
}

/** Names of this machine's addresses, sorted. */
export async function reverseNames(interfaces: Interfaces): Promise<string[]> {
  const faces = [...interfaces.values()];
  const addresses = [...sortedAddresses(faces, "inet", false), ...sortedAddresses(faces, "inet6", false)];
  const found = await Promise.all(
    addresses.map((address) =>
      withinDeadline(
        lookupService(address, 0).then((service) => service.hostname),
        address,
      ),
    ),
  );
  return [...new Set(found.filter((name) => parseAddress(name) === undefined))].sort();
}

/** Settings of /etc/resolv.conf, or of systemd's own resolv.conf if it exists, which lists the servers behind systemd's stub. */
function resolverSettings(): Grains {
  const systemd = "/run/systemd/resolve/resolv.conf";
  return parseResolverFile(readTextIfAny(existsSync(systemd) ? systemd : "/etc/resolv.conf") ?? "");
}

export function parseResolverFile(text: string): Grains {
  const servers: string[] = [];
  const sortlist: string[] = [];
  const options: string[] = [];
  let [domain, search]: [string, string[]] = ["", []];
  for (const line of text.split("\n")) {
    const [directive = "", ...rest] = line.trim().split(/\s+/);
    const comment = rest.findIndex((word) => word.startsWith("#") || word.startsWith(";"));
    const words = comment < 0 ? rest : rest.slice(0, comment);
    const [first] = words;
    if (first === undefined) continue;
    const keyword = directive.toLowerCase();
    if (keyword === "nameserver") {
      const address = parseAddress(first);
      if (address !== undefined) servers.push(formatAddress(address));
    } else if (keyword === "domain") domain = first;
    else if (keyword === "search") search = words;
    else if (keyword === "sortlist") sortlist.push(...words.flatMap(withNetmask));
    else if (keyword === "options") options.push(first);
  }
  const nameservers = [...new Set(servers)];
  return {
    nameservers,
    ip4_nameservers: nameservers.filter((address) => !address.includes(":")),
    ip6_nameservers: nameservers.filter((address) => address.includes(":")),
    sortlist: [...new Set(sortlist)],
    domain,
    search,
    options: [...new Set(options)],
  };
}

/** `network/netmask`. A network without a mask gets the mask of its class (A, B or C). */
function withNetmask(word: string): string[] {
  const first = Number(word.split(".")[0]);
  const natural = word.includes(":") || word.includes("/") ? "" : first >= 192 ? "/24" : first >= 128 ? "/16" : "/8";
  const found = parseInterface(word + natural);
  return found === undefined ? [] : [`${formatAddress(found.parsed)}/${netmaskOf(found.parsed)}`];
}
