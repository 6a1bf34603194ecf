/** Versions of this program, its libraries and the machine: `-V` of every command, `test.versions_report` of the minion. */
import { machine, release, type } from "node:os";
import { readOwnPackage, saltReleaseFollowed } from "../../../config/host/program.ts";
import { readTextIfAny } from "../machine/file-error.ts";

type Section = { readonly [name: string]: string };

/** `distribution`: name, release and code name of the operating system, such as `debian 12 bookworm`. */
export function versionsInformation(distribution: string): { readonly [title: string]: Section } {
  const own = readOwnPackage();
  const osRelease = /^PRETTY_NAME="?([^"\n]*)/m.exec(readTextIfAny("/etc/os-release") ?? "")?.[1] ?? "";
  return {
    "Saltworks Version": { Saltworks: own.version, "Salt followed": saltReleaseFollowed.text },
    "Node.js Version": { "Node.js": process.versions.node },
    "Dependency Versions": { ...own.dependencies, OpenSSL: process.versions.openssl },
    "System Versions": {
      system: type(),
      dist: distribution,
      release: release(),
      machine: machine(),
      version: osRelease,
      locale: "utf-8",
    },
  };
}

/** The report as text: each title, then its lines `name: version`, aligned at the colon. */
export function versionsReport(distribution: string): string {
  const sections = Object.entries(versionsInformation(distribution));
  const width = Math.max(...sections.flatMap(([, section]) => Object.keys(section).map((name) => name.length)));
  const blocks = sections.map(([title, section]) => {
    const names = Object.keys(section).sort((a, b) => a.toLowerCase().localeCompare(b.toLowerCase()));
    return [`${title}:`, ...names.map((name) => `${name.padStart(width)}: ${section[name]}`)].join("\n");
  });
  return blocks.join("\n \n");
}
