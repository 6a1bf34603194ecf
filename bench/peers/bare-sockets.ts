/**
 * The memory that a fleet's connections take in Node without a master: a bare ROUTER and PUB in a separate process hold them, each used
 * in both directions. `docs/protocol.md` section 1 says which connections a minion has.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { SaltworksError } from "../../src/errors.ts";
import { descriptorLimits, withDescriptors } from "../fleet/descriptors.ts";
import { Gate } from "../fleet/gate.ts";
import { Connection } from "../fleet/storm/connection.ts";
import { memoryOf } from "../memory.ts";
import type { FromBareSockets, ToBareSockets } from "./bare-sockets-server.ts";

/** `batchBytes`: size of libzmq's reads and writes; undefined is its own value, 8,192. */
export type BareSocketsOptions = { readonly minionCount: number; readonly batchBytes?: number };

export type BareSockets = {
  readonly minionCount: number;
  readonly batchBytes: number;
  /** Memory before any connection, and with all connections after each was used in both directions. */
  readonly emptyRssBytes: number;
  readonly rssBytes: number;
};

const serverProgram = fileURLToPath(new URL("./bare-sockets-server.js", import.meta.url));
const batchBytesOfZeromq = 8_192;
/** The lengths of a `_return` and of a publish of `test.ping`. */
const requestBytes = 700;
const publishBytes = 900;
/** A socket's backlog holds 1,000 connections; further ones wait until the kernel tries again. */
const connectingAtOnce = 200;
const readyTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
const publishTimeoutMs = 30_000;
const publishAgainMs = 500;
/** Connections, their event descriptors, and what Node needs. */
const spareDescriptors = 256;

/** Opens both connections of each minion from this process, without minions: one sent a request, the other got a publish. */
export async function measureBareSockets(options: BareSocketsOptions): Promise<BareSockets> {
  const { minionCount, batchBytes } = options;
  const { hard } = descriptorLimits();
  const least = minionCount * 2 + spareDescriptors;
  const server = startServer({ least, wanted: hard }, batchBytes);
  const connections: Connection[] = [];
  try {
    const ports = await readyOf(server);
    const emptyRssBytes = rssBytesOf(server);
    const heard = new Countdown(minionCount);
    const gate = new Gate(connectingAtOnce);
    const host = "127.0.0.1";
    const payload = Buffer.alloc(requestBytes);
    const connectOne = async (): Promise<void> => {
      const requests = await Connection.open({ host, port: ports.requestPort, type: "REQ" });
      connections.push(requests);
      await requests.request(payload, requestTimeoutMs);
      const publishes = await Connection.open({ host, port: ports.publishPort, type: "SUB" });
      connections.push(publishes);
      publishes.onMessage = () => {
        publishes.onMessage = () => {};
        heard.count();
      };
    };
    await Promise.all(Array.from({ length: minionCount }, () => gate.run(connectOne)));
    await publishUntilAllHeard(server, heard);
    return { minionCount, batchBytes: batchBytes ?? batchBytesOfZeromq, emptyRssBytes, rssBytes: rssBytesOf(server) };
  } finally {
    for (const connection of connections) connection.close();
    server.kill("SIGKILL");
    await once(server, "exit");
  }
}

class Countdown {
  readonly done: Promise<void>;
  #left: number;
  #resolve = (): void => {};

  constructor(from: number) {
    this.#left = from;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  count(): void {
    this.#left -= 1;
    if (this.#left === 0) this.#resolve();
  }
}

/** A subscription takes effect a moment after its connection. A second publish reaches the subscribers that missed the first. */
async function publishUntilAllHeard(server: ChildProcess, { done }: Countdown): Promise<void> {
  const publish: ToBareSockets = { publishBytes };
  const again = setInterval(() => server.send(publish), publishAgainMs);
  let timer: NodeJS.Timeout | undefined;
  try {
    server.send(publish);
    const late = new Promise<never>((_, reject) => {
      const error = new SaltworksError(
        "TASK_TIMEOUT",
        `not every subscriber heard of a publish in ${publishTimeoutMs} ms`,
      );
      timer = setTimeout(() => reject(error), publishTimeoutMs);
    });
    await Promise.race([done, late]);
  } finally {
    clearInterval(again);
    clearTimeout(timer);
  }
}

function startServer(need: { least: number; wanted: number }, batchBytes: number | undefined): ChildProcess {
  const command = [process.execPath, serverProgram, ...(batchBytes === undefined ? [] : [String(batchBytes)])];
  const { file, args } = withDescriptors(need, command);
  return spawn(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

async function readyOf(server: ChildProcess): Promise<FromBareSockets> {
  const signal = AbortSignal.timeout(readyTimeoutMs);
  const exited = once(server, "exit", { signal }).then(() => {
    throw new SaltworksError("MASTER_UNREACHABLE", "the bare sockets did not open");
  });
  const [ready] = await Promise.race([once(server, "message", { signal }), exited]);
  return ready as FromBareSockets;
}

function rssBytesOf({ pid }: ChildProcess): number {
  return pid === undefined ? 0 : memoryOf(pid).rssBytes;
}
