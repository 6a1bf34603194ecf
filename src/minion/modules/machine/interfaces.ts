/** The network interfaces of this machine in Salt's form: from `ip`, else from Node and the kernel's files. */

import { networkInterfaces } from "node:os";
import { compileGlob } from "../../../python/fnmatch.ts";
import { compareAddresses, isLoopback, maskOfPrefix, parseInterface } from "../../../python/ipaddress.ts";
import { strOf } from "../../../python/repr.ts";
import type { Value } from "../../../wire/values.ts";
import { namesIn, readTextIfAny } from "./file-error.ts";
import { runProgram } from "./run-program.ts";

export type Address4 = {
  address: string;
  netmask: string;
  broadcast: string | null;
  label: string;
};
/** `prefixlen` is text, as `ip` prints it; the number 128 if `ip` does not print one. */
export type Address6 = { address: string; prefixlen: string | number; scope: string | null };
export type Interface = {
  hwaddr?: string;
  up: boolean;
  parent?: string;
  inet?: Address4[];
  inet6?: Address6[];
  secondary?: ((Address4 | Address6) & { type: "inet" | "inet6" })[];
};
export type Interfaces = ReadonlyMap<string, Interface>;

export async function readInterfaces(): Promise<Interfaces> {
  const asked = await runProgram("ip", ["addr", "show"]);
  return asked.isFound && asked.exitCode === 0 ? parseIpAddrShow(asked.stdout) : interfacesOfKernel();
}

/** A line without indentation begins an interface: `2: eth0@parent: <FLAGS> ...`. Indented lines below have its addresses. */
export function parseIpAddrShow(text: string): Interfaces {
  const interfaces = new Map<string, Interface>();
  let current: Interface | undefined;
  for (const line of text.split("\n")) {
    const head = /^\d+:\s+([\w.-]+)@?([\w.-]+)?:\s+<(.+?)>/.exec(line);
    if (head !== null) {
      current = {
        up: (head[3] ?? "").split(",").includes("UP"),
        ...(head[2] === undefined ? {} : { parent: head[2] }),
      };
      interfaces.set(head[1] ?? "", current);
    } else if (/^\d+:/.test(line)) current = undefined;
    else if (current !== undefined) addLine(current, line.trim().split(/\s+/));
  }
  return interfaces;
}

function addLine(face: Interface, words: readonly string[]): void {
  const [kind = "", value = ""] = words;
  if (kind.startsWith("link/") && value !== "") face.hwaddr = value;
  if (kind !== "inet" && kind !== "inet6") return;
  const [address = "", prefix] = value.split("/");
  const after = (word: string) => (words.includes(word) ? (words[words.indexOf(word) + 1] ?? null) : null);
  if (kind === "inet") {
    const netmask = maskOfPrefix(Number(prefix ?? 32));
    const entry = { address, netmask, broadcast: after("brd"), label: words.at(-1) ?? "" };
    if (words.includes("secondary")) face.secondary = [...(face.secondary ?? []), { type: "inet", ...entry }];
    else face.inet = [...(face.inet ?? []), entry];
  } else {
    const entry = { address, prefixlen: prefix ?? 32, scope: after("scope") };
    if (words.includes("secondary")) face.secondary = [...(face.secondary ?? []), { type: "inet6", ...entry }];
    else face.inet6 = [...(face.inet6 ?? []), entry];
  }
}

/** For machines without `ip`. Broadcast addresses are then unknown. */
function interfacesOfKernel(): Interfaces {
  const known = networkInterfaces();
  const interfaces = new Map<string, Interface>();
  for (const name of namesIn("/sys/class/net")) {
    const read = (file: string) => readTextIfAny(`/sys/class/net/${name}/${file}`)?.trim();
    const addresses = known[name] ?? [];
    const inet = addresses.filter(({ family }) => family === "IPv4");
    const inet6 = addresses.filter(({ family }) => family === "IPv6");
    interfaces.set(name, {
      hwaddr: read("address") ?? "",
      up: (Number(read("flags") ?? 0) & 1) === 1,
      ...(inet.length === 0
        ? {}
        : { inet: inet.map(({ address, netmask }) => ({ address, netmask, broadcast: null, label: name })) }),
      ...(inet6.length === 0
        ? {}
        : {
            inet6: inet6.map(({ address, cidr }) => ({
              address,
              prefixlen: cidr?.split("/")[1] ?? "128",
              scope: null,
            })),
          }),
    });
  }
  return interfaces;
}

/** Interfaces that match a glob, one of a list, or one of several separated by commas; all without a pattern. */
export function selectInterfaces(interfaces: Interfaces, pattern: Value): Interface[] {
  if (pattern === null) return [...interfaces.values()];
  const words = Array.isArray(pattern) ? pattern.map(strOf) : strOf(pattern).split(",");
  const globs = words.map((word) => compileGlob(word.trim()));
  return Array.from(interfaces)
    .filter(([name]) => globs.some((glob) => glob.matches(name)))
    .map(([, face]) => face);
}

/** Addresses with their masks, secondary ones last. */
export function addressesOf(face: Interface, kind: "inet" | "inet6"): (Address4 | Address6)[] {
  return [...(face[kind] ?? []), ...(face.secondary ?? []).filter((entry) => entry.type === kind)];
}

/** Addresses in numeric order, without duplicates. */
export function sortedAddresses(
  faces: readonly Interface[],
  kind: "inet" | "inet6",
  includesLoopback: boolean,
): string[] {
  const all = faces.flatMap((face) => addressesOf(face, kind)).map(({ address }) => address);
  return [...new Set(all)].filter((address) => includesLoopback || !isLoopback(address)).sort(compareAddresses);
}

/** Networks of these interfaces in numeric order; networks of the loopback only with `includesLoopback`. */
export function networksOf(faces: readonly Interface[], kind: "inet" | "inet6", includesLoopback: boolean): string[] {
  const networks = faces
    .flatMap((face) => addressesOf(face, kind))
    .flatMap((entry) => {
      const mask = "netmask" in entry ? entry.netmask : String(entry.prefixlen);
      const parsed = parseInterface(`${entry.address}/${mask}`);
      return parsed === undefined || (!includesLoopback && isLoopback(entry.address)) ? [] : [parsed.network];
    });
  return [...new Set(networks)].sort(compareAddresses);
}
