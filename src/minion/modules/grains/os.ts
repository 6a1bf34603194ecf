/** Grains about the operating system: distribution, release, kernel, init. Source: values of Salt 3007 on the same machine. */
import { existsSync, statSync } from "node:fs";
import { hostname, machine, release, type, version } from "node:os";
import type { Encodable } from "../../../wire/values.ts";
import type { Environment } from "../machine/environment.ts";
import { readTextIfAny } from "../machine/file-error.ts";
import { runProgram } from "../machine/run-program.ts";
import { splitShellWords } from "../machine/shell-words.ts";
import { which } from "../machine/which.ts";
import { osFamily, osName } from "./os-names.ts";

export type Grains = { [name: string]: Encodable };

/** The distribution as text fields; missing ones are left out. */
type Distribution = {
  readonly os: string;
  readonly osfullname: string;
  readonly osrelease: string;
  readonly oscodename: string;
  readonly lsb: { readonly [name: string]: string };
};

export async function osGrains(environment: Environment): Promise<Grains> {
  const found = readDistribution();
  const family = osFamily(found.os);
  return {
    kernel: type(),
    nodename: hostname(),
    kernelrelease: release(),
    kernelversion: version(),
    cpuarch: machine(),
    ...(await selinuxGrain(environment)),
    ...(await systemdGrain(environment)),
    init: initSystem(environment),
    os: found.os,
    os_family: family,
    oscodename: found.oscodename,
    osfullname: found.osfullname,
    ...found.lsb,
    osrelease: found.osrelease,
    osarch: await packageArchitecture(family),
    ...releaseGrains(found),
    ...kernelParameters(),
  };
}

/** os-release, corrected by /etc/lsb-release and, for old relatives of Red Hat, by their release file. */
export function readDistribution(root = ""): Distribution {
  const osRelease = readAssignments(`${root}/etc/os-release`) ?? readAssignments(`${root}/usr/lib/os-release`);
  const lsb = lsbNames(readAssignments(`${root}/etc/lsb-release`) ?? new Map());
  const redHat = readRedHatRelease(root);
  if (osRelease === undefined) {
    const osfullname = lsb.lsb_distrib_id ?? redHat?.name ?? "Linux";
    const named = lsb.lsb_distrib_release ?? redHat?.release ?? "";
    return { os: osName(osfullname), osfullname, osrelease: named, oscodename: redHat?.codename ?? "", lsb };
  }
  const name = (osRelease.get("NAME") ?? "Linux").trim();
  const suse = suseNames(osRelease);
  const os = suse?.os ?? osName(name, osRelease.get("ID") ?? "linux");
  const pretty = osRelease.get("PRETTY_NAME") ?? "Linux";
  const fields =
    lsb.lsb_distrib_id === undefined
      ? {
          lsb_distrib_id: name,
          lsb_distrib_codename: bracketed(os, osRelease.get("VERSION_CODENAME") ?? pretty),
          ...(osRelease.has("VERSION_ID")
            ? { lsb_distrib_release: suse?.release ?? osRelease.get("VERSION_ID") ?? "" }
            : {}),
        }
      : lsb;
  const codename = fields.lsb_distrib_codename ?? "";
  const isCentOld = /CentOS Linux [78]/.test(codename);
  return {
    os,
    osfullname: suse?.fullName ?? name,
    osrelease: (
      (isCentOld ? redHat?.release : undefined) ??
      fields.lsb_distrib_release ??
      redHat?.release ??
      ""
    ).trim(),
    oscodename: codename.includes("Red Hat") ? (bracketedPart(pretty) ?? "") : codename.trim(),
    lsb: isCentOld ? withoutRelease(fields) : fields,
  };
}

/** Removes the release: old CentOS writes only the major number to lsb-release. Its release file has the whole number. */
function withoutRelease({ lsb_distrib_release: _release, ...fields }: { readonly [name: string]: string }) {
  return fields;
}

/** `NAME=value` lines with shell quoting; undefined if the file cannot be read. */
function readAssignments(path: string): Map<string, string> | undefined {
  const text = readTextIfAny(path);
  if (text === undefined) return undefined;
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^(\w+)=['"]?(.*?)['"]?$/.exec(line.trim());
    if (match !== null) values.set(match[1] ?? "", (match[2] ?? "").replace(/\\([$"'\\`])/g, "$1"));
  }
  return values;
}

function lsbNames(assignments: ReadonlyMap<string, string>): { [name: string]: string } {
  const names: { [name: string]: string } = {};
  for (const [name, value] of assignments) {
    if (/^DISTRIB_(ID|RELEASE|CODENAME|DESCRIPTION)$/.test(name)) names[`lsb_${name.toLowerCase()}`] = value.trimEnd();
  }
  return names;
}

/** Names of SUSE's distributions, recognised by the CPE name, which also has openSUSE's release. */
function suseNames(
  osRelease: ReadonlyMap<string, string>,
): { os: string; fullName?: string; release?: string } | undefined {
  const [, , vendor = "", , cpeVersion] = (osRelease.get("CPE_NAME") ?? "").split(":");
  if (vendor.toLowerCase() !== "suse" && vendor.toLowerCase() !== "opensuse") return undefined;
  const isLeap = osRelease.get("NAME") === "openSUSE Leap";
  const isRolling = osRelease.get("VERSION") === "Tumbleweed";
  return {
    os: "SUSE",
    ...(isLeap ? { fullName: "Leap" } : isRolling ? { fullName: "Tumbleweed" } : {}),
    ...(vendor === "opensuse" && cpeVersion !== undefined ? { release: cpeVersion } : {}),
  };
}

/** The code name, which Rocky, AlmaLinux and Astra Linux put in brackets. */
function bracketed(os: string, codename: string): string {
  return ["Rocky", "AlmaLinux", "AstraLinuxSE"].includes(os) ? (bracketedPart(codename) ?? codename) : codename;
}

function bracketedPart(text: string): string | undefined {
  return /\(([^)]*)\)/.exec(text)?.[1];
}

function readRedHatRelease(root: string): { name: string; release: string; codename: string } | undefined {
  const text = readTextIfAny(`${root}/etc/centos-release`) ?? readTextIfAny(`${root}/etc/redhat-release`);
  const match = /^(.*?) release (\d+(?:\.\d+)*)/.exec(text ?? "");
  if (text === undefined || match === null) return undefined;
  return { name: match[1] ?? "", release: match[2] ?? "", codename: bracketedPart(text) ?? "" };
}

function releaseGrains({ os, osfullname, osrelease }: Distribution): Grains {
  if (osrelease === "") return {};
  const parts = osrelease.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const [major] = parts;
  const name = os === "Debian" || os === "Raspbian" ? os : osfullname;
  return {
    osrelease_info: parts,
    ...(typeof major === "number" ? { osmajorrelease: major } : {}),
    osfinger: `${name}-${os === "Ubuntu" || os === "Pop" ? osrelease : major}`,
  };
}

async function packageArchitecture(family: string): Promise<string> {
  if (family === "Debian") return (await runProgram("dpkg", ["--print-architecture"])).stdout.trim();
  if (family !== "RedHat" && family !== "Suse") return machine();
  const asked = await runProgram("rpm", ["--eval", "%{_host_cpu}"]);
  return (asked.isFound ? asked.stdout.trim() : machine()) || "unknown";
}

async function selinuxGrain(environment: Environment): Promise<Grains> {
  if (which("selinuxenabled", environment) === undefined) return {};
  const isEnabled = (await runProgram("selinuxenabled", [])).exitCode === 0;
  const enforced = await runProgram("getenforce", []);
  return { selinux: { enabled: isEnabled, ...(enforced.isFound ? { enforced: enforced.stdout.trim() } : {}) } };
}

async function systemdGrain(environment: Environment): Promise<Grains> {
  if (which("systemctl", environment) === undefined || which("localectl", environment) === undefined) return {};
  const [first = "", features = ""] = (await runProgram("systemctl", ["--version"])).stdout.split("\n");
  const match = /^systemd (\S+)/.exec(first);
  return { systemd: match === null ? { version: "UNDEFINED", features: "" } : { version: match[1] ?? "", features } };
}

const knownInits = ["upstart", "sysvinit", "systemd"] as const;

/** The init system, from the command line of process 1; if that is `init`, from words in its program file. */
function initSystem(environment: Environment): string {
  if (existsSync("/run/systemd/system")) return "systemd";
  const words = (readTextIfAny("/proc/1/cmdline") ?? "")
    .replaceAll("\0", " ")
    .split(/\s+/)
    .filter((word) => word !== "");
  const program = which(words[0] ?? "", environment);
  if (program?.endsWith("bin/init") === true) {
    const text = statSync(program).size < 64 * 1024 * 1024 ? (readTextIfAny(program) ?? "").toLowerCase() : "";
    return knownInits.find((name) => text.includes(name)) ?? "unknown";
  }
  for (const name of ["supervisord", "dumb-init", "tini"]) {
    const path = which(name, environment);
    if (path !== undefined && words.includes(path)) return name;
  }
  return words.join(" ") === "runit" || words.includes("/sbin/my_init") ? "runit" : "unknown";
}

/** Pairs of name and value. A parameter without a value, or with more than one `=`, has the value None. */
function kernelParameters(): Grains {
  const line = readTextIfAny("/proc/cmdline");
  if (line === undefined) return {};
  const pairs = splitShellWords(line).map((word) => {
    const [name = "", value, more] = word.split("=");
    return [name, value === undefined || more !== undefined ? null : value.replace(/^"+|"+$/g, "")];
  });
  return { kernelparams: pairs };
}
