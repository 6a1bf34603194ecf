/**
 * Ports for servers that a benchmark or a test starts, free when they were looked at. A process keeps its ports until it ends, by files that others of this
 * user see: a port that one has found free is another's until its server listens.
 */
import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasCodeIn } from "../src/config/files/system-errors.ts";
import { SaltworksError } from "../src/errors.ts";

/**
 * Below the kernel's range of outgoing ports (from 32,768 on Linux). Otherwise a fleet of thousands of connections could take a port
 * between the check and the master's start.
 */
const portMin = 10_240;
const portMax = 32_767;
const portTriesMax = 1_000;
const portCount = portMax - portMin + 1;
/** Processes begin in different places. One process does not look at a port again before it has looked at all others. */
const portsPerProcess = 64;
let looked = process.pid * portsPerProcess;

/** `count` ports that were free when checked. @throws SaltworksError MASTER_UNREACHABLE */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let tried = 0; tried < portTriesMax && found.length < count; tried += 1) {
    const port = portMin + (looked % portCount);
    looked += 1;
    if (keepPort(port) && (await isFree(port))) found.push(port);
  }
  if (found.length === count) return found;
  throw new SaltworksError("MASTER_UNREACHABLE", `no free port among ${portTriesMax} that were tried`);
}

/** Files of the ports that this process keeps. */
const kept = new Set<string>();

/** Keeps a port for this process until it ends. @returns false if another process keeps it */
export function keepPort(port: number): boolean {
  const file = join(folder(), String(port));
  if (kept.has(file)) return true;
  if (!write(file) && !(isLeft(file) && write(file))) return false;
  if (kept.size === 0) process.once("exit", giveUp);
  kept.add(file);
  return true;
}

function folder(): string {
  return join(tmpdir(), `saltworks-ports-${process.getuid?.() ?? 0}`);
}

function giveUp(): void {
  for (const file of kept) rmSync(file, { force: true });
  try {
    rmdirSync(folder());
  } catch (error) {
    // Others keep ports.
    if (!hasCodeIn(error, "ENOTEMPTY", "ENOENT")) throw error;
  }
}

function write(file: string): boolean {
  for (;;) {
    // Another process may remove it when it ends.
    mkdirSync(folder(), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return true;
    } catch (error) {
      if (hasCodeIn(error, "EEXIST")) return false;
      if (!hasCodeIn(error, "ENOENT")) throw error;
    }
  }
}

/** Removes a file whose process was killed. @returns whether it did */
function isLeft(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, "utf8"));
    // An empty file is being written.
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    if (!hasCodeIn(error, "ESRCH", "ENOENT")) return false;
    rmSync(file, { force: true });
    return true;
  }
}

/** Whether a server may listen on the port of 127.0.0.1: nothing does, and this user may. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** One such port. @throws SaltworksError MASTER_UNREACHABLE */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new RangeError("no port");
  return port;
}
