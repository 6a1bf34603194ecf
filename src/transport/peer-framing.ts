/**
 * Finds the framing for a Salt program that has just connected to the event socket. Salt's programs do not name their release. So this file
 * examines the running Python processes for the Salt release that each would import. Source: docs/protocol.md section 10.2.
 */
import { execFile } from "node:child_process";
import { readlinkSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { namesIfReadable } from "../config/files/missing.ts";
import { within } from "../deadline.ts";
import type { Framing } from "../wire/event-framing.ts";
import { errnoOf } from "./socket-path.ts";

/** From 3006.26 on, and in the 3006 series only, Salt's event subscribers read a length before each frame. */
const countedSeries = 3006;
const countedPatchMin = 26;

/** Salt's daemons, which never subscribe to the event bus of another process. */
const bystanders = /^salt-(minion|proxy|master|syndic)\b/;

/** Runs `ss`, the only source of the process at the other end of a Unix socket. Undefined if it is not installed. */
export type ListSockets = () => Promise<string | undefined>;

const listSocketsTimeoutMs = 2_000;
const listedBytesMax = 64 * 1024 * 1024;
/** Longest look at the processes: a network file system that hangs must not keep a subscriber from its events. */
const lookTimeoutMs = 2_000;
/** `exe` links of /proc that one turn reads: some 2 ms. */
const linksPerTurn = 200;

function listUnixSockets(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const limits = { timeout: listSocketsTimeoutMs, maxBuffer: listedBytesMax };
    execFile("ss", ["-xpH"], limits, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
}

/**
 * One look: the framing of Salt's programs by process id. `listing` lists all sockets, for when that is not enough. `isWhole`: the look ended in
 * time, so all other processes are not Salt's.
 */
type Look = {
  readonly framings: ReadonlyMap<string, Framing>;
  readonly isWhole: boolean;
  readonly listing: () => Promise<string | undefined>;
};

/** Framings of the running programs, for one master or minion. Programs that connect during a look share the next one. */
export class PeerFramings {
  readonly #procFolder: string;
  readonly #listSockets: ListSockets;
  readonly #timeoutMs: number;
  /** Pending reads, by path. A hung read is not repeated, because each takes one of the four threads of Node.js. */
  readonly #reading = new Map<string, Promise<unknown>>();
  #underWay: Promise<Look> | undefined;
  #next: Promise<Look> | undefined;

  constructor(procFolder = "/proc", listSockets: ListSockets = listUnixSockets, timeoutMs = lookTimeoutMs) {
    this.#procFolder = procFolder;
    this.#listSockets = listSockets;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * The framing that all running programs agree on, else that of the process at the other end of this socket. `either` if the process cannot be
   * found: late 3006 and 3007 can read it, other releases may not. A look that was given up is incomplete: it may have missed programs.
   *
   * @param socketInode of our end of the connection
   */
  async of(socketInode: string | undefined): Promise<Framing> {
    const { framings, isWhole, listing } = await this.#lookFromNow();
    const [only, ...others] = new Set(framings.values());
    if (isWhole && only !== undefined && others.length === 0) return only;
    const listed = socketInode === undefined ? undefined : await listing();
    const pids = listed === undefined ? [] : peersIn(listed, socketInode ?? "");
    if (pids.length === 0) return "either";
    // A program that is not Salt's Python reads plain frames.
    const known = pids.map((pid) => framings.get(pid)).find((framing) => framing !== undefined);
    return known ?? (isWhole ? "plain" : await this.#framingOfOne(pids));
  }

  /** Examines these processes alone, after a look at all of them took too long. */
  async #framingOfOne(pids: readonly string[]): Promise<Framing> {
    const framings = new Map<string, Framing>();
    const isWhole = await this.#inTime(this.#findPrograms(framings, pids));
    const [found] = framings.values();
    return found ?? (isWhole ? "plain" : "either");
  }

  /** Whether the work ended before it took too long. */
  #inTime(work: Promise<void>): Promise<boolean> {
    return within(
      work.then(() => true),
      this.#timeoutMs,
      () => false,
    );
  }

  /** A look that starts after this call. A look under way may have missed a program that has just connected. */
  #lookFromNow(): Promise<Look> {
    if (this.#underWay === undefined) return this.#look();
    this.#next ??= this.#underWay.then(() => {
      this.#next = undefined;
      return this.#look();
    });
    return this.#next;
  }

  #look(): Promise<Look> {
    const look = this.#lookAround().finally(() => {
      if (this.#underWay === look) this.#underWay = undefined;
    });
    this.#underWay = look;
    return look;
  }

  async #lookAround(): Promise<Look> {
    const framings = new Map<string, Framing>();
    const pids = namesIfReadable(this.#procFolder).filter((name) => /^[0-9]+$/.test(name));
    const isWhole = await this.#inTime(this.#findPrograms(framings, pids));
    let listed: Promise<string | undefined> | undefined;
    const listing = () => {
      listed ??= this.#listSockets();
      return listed;
    };
    return { framings: new Map(framings), isWhole, listing };
  }

  async #findPrograms(framings: Map<string, Framing>, pids: readonly string[]): Promise<void> {
    const installations = new Map<string, Promise<Release | undefined>>();
    const asked: Promise<void>[] = [];
    for (const [index, pid] of pids.entries()) {
      if (index % linksPerTurn === linksPerTurn - 1) await nextTurn();
      const executable = executableOf(join(this.#procFolder, pid));
      if (executable === undefined) continue;
      asked.push(
        this.#releaseOf(join(this.#procFolder, pid), executable, installations).then((release) => {
          if (release !== undefined) framings.set(pid, framingOf(release));
        }),
      );
    }
    await Promise.all(asked);
  }

  /** `executable`: "" if this process may not read it. */
  async #releaseOf(
    processFolder: string,
    executable: string,
    installations: Map<string, Promise<Release | undefined>>,
  ): Promise<Release | undefined> {
    // Salt's programs set a process title, whose words are separated by blanks.
    const commandLine = await this.#once(join(processFolder, "cmdline"), textOf);
    const [interpreter = "", script = ""] = commandLine.split(/[\0 ]/);
    if (!basename(interpreter).startsWith("python") || bystanders.test(basename(script))) return undefined;
    for (const program of [interpreter, executable]) {
      if (!program.startsWith("/")) continue;
      const prefix = dirname(dirname(program));
      const known = installations.get(prefix) ?? this.#installedRelease(prefix);
      installations.set(prefix, known);
      const release = await known;
      if (release !== undefined) return release;
    }
    return undefined;
  }

  /** Salt's release below a Python prefix: a virtual environment, Salt's own packages, or the distribution's. */
  async #installedRelease(prefix: string): Promise<Release | undefined> {
    const library = join(prefix, "lib");
    for (const version of await this.#once(library, namesIn)) {
      if (!version.startsWith("python3")) continue;
      for (const packages of ["site-packages", "dist-packages"]) {
        for (const name of await this.#once(join(library, version, packages), namesIn)) {
          const release = /^salt-([0-9]+)\.([0-9]+)\S*\.(?:dist|egg)-info$/.exec(name);
          if (release !== null) return { series: Number(release[1]), patch: Number(release[2]) };
        }
      }
    }
    return undefined;
  }

  #once<Result>(path: string, read: (path: string) => Promise<Result>): Promise<Result> {
    const begun = this.#reading.get(path) as Promise<Result> | undefined;
    if (begun !== undefined) return begun;
    const reading = read(path).finally(() => this.#reading.delete(path));
    this.#reading.set(path, reading);
    return reading;
  }
}

/**
 * Ids of the processes that hold the other end. Columns of a line: kind, state, two queues, local address and inode, peer address and inode, users.
 */
function peersIn(listing: string, socketInode: string): string[] {
  const lines = listing.split("\n").map((line) => /\s(\d+)\s+\S+\s+(\d+)\s*(users:.*)?$/.exec(line.trimEnd()));
  const peerInode = lines.find((line) => line?.[1] === socketInode)?.[2];
  const users = lines.find((line) => line !== null && line[1] === peerInode)?.[3] ?? "";
  return [...users.matchAll(/pid=(\d+)/g)].map((match) => match[1] ?? "");
}

type Release = { readonly series: number; readonly patch: number };

function framingOf(release: Release): Framing {
  return release.series === countedSeries && release.patch >= countedPatchMin ? "counted" : "plain";
}

/**
 * The Python that a process runs; "" if this process may not read it; undefined if it runs another program. Synchronous: the
 * kernel answers from memory, and on a busy machine a turn of the event loop for each of hundreds of processes would take a second.
 */
function executableOf(processFolder: string): string | undefined {
  try {
    const path = readlinkSync(join(processFolder, "exe"));
    return basename(path).startsWith("python") ? path : undefined;
  } catch (error) {
    // A thread of the kernel's, or a process that has ended.
    return errnoOf(error) === "ENOENT" || errnoOf(error) === "ESRCH" ? undefined : "";
  }
}

/** Empty for a folder that cannot be read: processes end during the look. */
function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
