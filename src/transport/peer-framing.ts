/**
 * How whoever just connected to the event socket wants its frames. It never says, so its installation is asked: the Python programs
 * that run on this machine now, and the Salt release each would import. Source: docs/protocol.md section 10.2.
 */
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Framing } from "../wire/event-framing.ts";

/** From 3006.26 on, and in the 3006 series only, Salt's event subscribers read a length before each frame. */
const countedSeries = 3006;
const countedPatchMin = 26;

/** Daemons of Salt's that never subscribe to a master's event bus from outside of it. */
const bystanders = /^salt-(minion|proxy|master|syndic)\b/;

/**
 * `either` where no such program runs, or programs that disagree: every current release can read that, releases before 3006.26,
 * 3007.15 and 3008.2 cannot.
 */
export async function framingOfPeers(procFolder = "/proc"): Promise<Framing> {
  const framings = new Set<Framing>();
  for (const pid of await namesIn(procFolder)) {
    if (!/^[0-9]+$/.test(pid)) continue;
    const release = await saltReleaseOf(join(procFolder, pid));
    if (release !== undefined) framings.add(framingOf(release));
  }
  const [only] = framings;
  return framings.size === 1 && only !== undefined ? only : "either";
}

type Release = { readonly series: number; readonly patch: number };

export function framingOf(release: Release): Framing {
  return release.series === countedSeries && release.patch >= countedPatchMin ? "counted" : "plain";
}

async function saltReleaseOf(processFolder: string): Promise<Release | undefined> {
  const words = (await textOf(join(processFolder, "cmdline"))).split("\0");
  const [interpreter = "", script = ""] = words;
  if (!basename(interpreter).startsWith("python") || bystanders.test(basename(script))) return undefined;
  const executable = await readlink(join(processFolder, "exe")).catch(() => "");
  for (const program of [interpreter, executable]) {
    const release = program.startsWith("/") ? await installedRelease(dirname(dirname(program))) : undefined;
    if (release !== undefined) return release;
  }
  return undefined;
}

/** Salt's release below a Python prefix: a virtual environment, Salt's own packages, or the distribution's. */
async function installedRelease(prefix: string): Promise<Release | undefined> {
  const library = join(prefix, "lib");
  for (const version of await namesIn(library)) {
    if (!version.startsWith("python3")) continue;
    for (const packages of ["site-packages", "dist-packages"]) {
      for (const name of await namesIn(join(library, version, packages))) {
        const release = /^salt-([0-9]+)\.([0-9]+)\S*\.(?:dist|egg)-info$/.exec(name);
        if (release !== null) return { series: Number(release[1]), patch: Number(release[2]) };
      }
    }
  }
  return undefined;
}

/** Processes end and folders are missing while we look: what cannot be read is not there. */
function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
