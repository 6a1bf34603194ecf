/** The server of one member, prepared as a master prepares it and run without one. Its peers do not exist, so it takes no changes. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { freePorts } from "../../bench/free-ports.ts";
import type { Member } from "../../src/cluster/member.ts";
import type { ClusterKeys } from "../../src/cluster/secret.ts";
import { type PreparedServer, prepareServer } from "../../src/cluster/server/prepare.ts";
import { natsServerProgram } from "../services/nats-server.ts";

const readyMsMax = 30_000;
const lookMs = 20;

/** Keys of a cluster without the slow derivation. `byte` tells clusters apart. */
export function testKeys(byte: number): ClusterKeys {
  const key = (at: number) => Buffer.alloc(32, byte * 16 + at);
  return { authoritySeed: key(0), clientSeed: key(1), systemSeed: key(2), sealKey: key(3), sessionKey: key(4) };
}

/** One member for each directory, named `member1` and so on; with fewer than three, peers that do not exist. */
export async function testMembers(directories: readonly string[]): Promise<Member[]> {
  const ports = await freePorts(Math.max(3, directories.length));
  return directories.map((directory, at) => ({
    ...{ clusterId: "test", name: `member${at + 1}`, secret: "", poolHost: "127.0.0.1", poolPort: ports[at] ?? 0 },
    peers: ports.filter((port) => port !== ports[at]).map((port) => `127.0.0.1:${port}`),
    ...{ hosts: ["127.0.0.1"], directory, replicas: 3, operatorNats: undefined },
  }));
}

export async function testMember(directory: string): Promise<Member> {
  const [member] = await testMembers([directory]);
  assert.ok(member !== undefined);
  return member;
}

/** Starts a prepared server. Resolves when it takes clients. */
export async function runPrepared(prepared: PreparedServer): Promise<ChildProcess> {
  const program = await natsServerProgram();
  assert.ok(program !== undefined);
  const child = spawn(program, ["-c", prepared.configurationFile], { stdio: "ignore" });
  const log = () => (existsSync(prepared.logFile) ? readFileSync(prepared.logFile, "utf8") : "");
  const line = `[${child.pid}]`;
  const endMs = performance.now() + readyMsMax;
  const isReady = () =>
    log()
      .split("\n")
      .some((one) => one.includes(line) && one.includes("Listening for route"));
  while (!isReady()) {
    assert.ok(performance.now() < endMs && child.exitCode === null, `nats-server is not ready: ${log()}`);
    await pause(lookMs);
  }
  return child;
}

export async function startPrepared(member: Member, keys: ClusterKeys) {
  const prepared = await prepareServer(member, keys, Date.now());
  return { ...prepared, process: await runPrepared(prepared) };
}

/** Another program that has a port of 127.0.0.1, and closes each connection. */
export async function listenAt(port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

export async function kill(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
