/**
 * Finds the id of a machine whose file has none: the cached `minion_id`, else the fully qualified host name. Local names (`localhost`,
 * `ip6-...`) never become an id. Source: Salt 3007, observed.
 */

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isIPv4 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { hostNameTimeoutMs } from "../../limits.ts";
import { hasCodeIn } from "../files/system-errors.ts";

/** Salt reads and writes it here, even with `-c`. */
const cachedIdFile = "etc/salt/minion_id";
const localName = /^(?:localhost|ip6-|127[.]\d|0\.0\.0\.0|::1|ipv6-|fe00::|fe02::|1.0.0.*.ip6.arpa)/;

export type HostIdRules = {
  readonly rootDir: string;
  readonly isCached: boolean;
  readonly isLowercase: boolean;
  /** true: removes any domain; text: removes this domain. */
  readonly removeDomain: boolean | string;
  readonly appendDomain: string;
};

/** Names of this host, best first, without local ones. */
function hostNames(): string[] {
  const asked = spawnSync("hostname", ["-f"], { encoding: "utf8", timeout: hostNameTimeoutMs });
  const fromSystem = asked.status === 0 ? asked.stdout.trim() : "";
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const outside = addresses.filter(({ internal, family }) => !internal && family === "IPv4");
  const names = [fromSystem, hostname(), ...outside.map(({ address }) => address)];
  return names.filter((name) => name !== "" && !localName.test(name));
}

function cachedId(rootDir: string): string | undefined {
  try {
    const name = readFileSync(join(rootDir, cachedIdFile), "utf8")
      .replace(/^\uFEFF/, "")
      .split("\n")[0]
      ?.trim();
    return name === "" || name === "localhost" ? undefined : name;
  } catch (error) {
    if (hasCodeIn(error, "ENOENT", "EACCES", "ENOTDIR")) return undefined;
    throw error;
  }
}

function withoutDomain(name: string, rule: boolean | string): string {
  if (rule === true) return name.split(".")[0] ?? name;
  if (rule === false || rule === "") return name;
  return name.toLowerCase().endsWith(`.${rule.toLowerCase()}`) ? name.slice(0, -rule.length - 1) : name;
}

/** Adds `domain` unless the name ends in it or in a dot. */
export function withDomain(name: string, domain: string): string {
  return domain === "" || name.endsWith(domain) || name.endsWith(".") ? name : `${name}.${domain}`;
}

/** The id for this host. */
export function hostId(rules: HostIdRules): string {
  const cached = rules.isCached ? cachedId(rules.rootDir) : undefined;
  if (cached !== undefined) return withDomain(cached, rules.appendDomain);
  const found = hostNames()[0] ?? "localhost";
  const name = withoutDomain(rules.isLowercase ? found.toLowerCase() : found, rules.removeDomain);
  return isIPv4(name) ? name : withDomain(name, rules.appendDomain);
}

/** Writes a computed id to the file, so that the id stays the same if the host's name changes. */
export function cacheHostId(rootDir: string, id: string): void {
  const file = join(rootDir, cachedIdFile);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, id);
}
