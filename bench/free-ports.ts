/** Ports for servers that a benchmark or a test starts, free when they were looked at. */
import { createServer } from "node:net";
import { SaltworksError } from "../src/errors.ts";

/**
 * Below the kernel's range of outgoing ports (from 32,768 on Linux). Otherwise a fleet of thousands of connections could take a port
 * between the check and the master's start.
 */
const portMin = 10_240;
const portMax = 32_767;
const portTriesMax = 1_000;
const portCount = portMax - portMin + 1;
/**
 * Processes of one machine that start servers side by side look in different places: a port that one has found free is another's until its server listens. One
 * process does not look at a port again before it has looked at all others.
 */
const portsPerProcess = 64;
let looked = process.pid * portsPerProcess;

/** `count` ports that were free when checked. @throws SaltworksError MASTER_UNREACHABLE */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  for (let tried = 0; tried < portTriesMax && found.length < count; tried += 1) {
    const port = portMin + (looked % portCount);
    looked += 1;
    if (await isFree(port)) found.push(port);
  }
  if (found.length === count) return found;
  throw new SaltworksError("MASTER_UNREACHABLE", `no free port among ${portTriesMax} that were tried`);
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
