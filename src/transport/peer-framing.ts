/**
 * How whoever just connected to the event socket wants its frames. It never says, so its installation is asked: the Python programs
 * that run on this machine now, and the Salt release each would import. Source: docs/protocol.md section 10.2.
 */
import { execFile } from "node:child_process";
import { readdir, readFile, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Framing } from "../wire/event-framing.ts";

/** From 3006.26 on, and in the 3006 series only, Salt's event subscribers read a length before each frame. */
const countedSeries = 3006;
const countedPatchMin = 26;

/** Daemons of Salt's that never subscribe to a master's event bus from outside of it. */
const bystanders = /^salt-(minion|proxy|master|syndic)\b/;

/** Runs `ss`, which alone tells which process is at the other end of a Unix socket; undefined where it is not installed. */
export type ListSockets = () => Promise<string | undefined>;

const listSocketsTimeoutMs = 2_000;
const listedBytesMax = 64 * 1024 * 1024;

function listUnixSockets(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const limits = { timeout: listSocketsTimeoutMs, maxBuffer: listedBytesMax };
    execFile("ss", ["-xpH"], limits, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
}

/**
 * Where the programs that run agree, that is the answer. Where they do not, the process at the other end of this very socket is
 * asked for. `either` is left for machines that cannot tell: late 3006 and 3007 can read that, others may not.
 *
 * @param socketInode of our end of the connection
 */
export async function framingOfPeer(
  socketInode: string | undefined,
  procFolder = "/proc",
  listSockets: ListSockets = listUnixSockets,
): Promise<Framing> {
  const framings = new Map<string, Framing>();
  for (const pid of await namesIn(procFolder)) {
    if (!/^[0-9]+$/.test(pid)) continue;
    const release = await saltReleaseOf(join(procFolder, pid));
    if (release !== undefined) framings.set(pid, framingOf(release));
  }
  const [only, ...others] = new Set(framings.values());
  if (only !== undefined && others.length === 0) return only;
  const listing = socketInode === undefined ? undefined : await listSockets();
  const pids = listing === undefined ? [] : peersIn(listing, socketInode ?? "");
  if (pids.length === 0) return "either";
  // A program that is no Python of Salt's reads frames as they have always been.
  return pids.map((pid) => framings.get(pid)).find((framing) => framing !== undefined) ?? "plain";
}

/** Processes that hold the other end. A line: kind, state, two queues, local address and inode, peer address and inode, users. */
function peersIn(listing: string, socketInode: string): string[] {
  const lines = listing.split("\n").map((line) => /\s(\d+)\s+\S+\s+(\d+)\s*(users:.*)?$/.exec(line.trimEnd()));
  const peerInode = lines.find((line) => line?.[1] === socketInode)?.[2];
  const users = lines.find((line) => line !== null && line[1] === peerInode)?.[3] ?? "";
  return [...users.matchAll(/pid=(\d+)/g)].map((match) => match[1] ?? "");
}

type Release = { readonly series: number; readonly patch: number };

export function framingOf(release: Release): Framing {
  return release.series === countedSeries && release.patch >= countedPatchMin ? "counted" : "plain";
}

async function saltReleaseOf(processFolder: string): Promise<Release | undefined> {
  // Salt's programs retitle themselves: the words are then parted by blanks.
  const [interpreter = "", script = ""] = (await textOf(join(processFolder, "cmdline"))).split(/[\0 ]/);
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
