/** The nats-server that scripts/nats-server.mjs builds, with the client that masters use. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { freePort } from "../../../bench/free-ports.ts";
import { natsServerProgram, natsServerSkip } from "../../services/nats-server.ts";

const program = await natsServerProgram();
const skip = await natsServerSkip();

/** Waits for the line with which the server says that it takes connections. */
async function untilReady(server: ChildProcess): Promise<void> {
  let said = "";
  for await (const chunk of server.stderr ?? []) {
    said += String(chunk);
    if (said.includes("Server is ready")) return;
  }
  throw new Error(`nats-server ended: ${said}`);
}

it("the server keeps a message in a stream, and gives it its sequence", { skip, timeout: 60_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "nats-server-"));
  const port = await freePort();
  const words = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", directory];
  const server = spawn(program ?? "", words, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "exit");
  try {
    await untilReady(server);
    const nats = await connect({ servers: `127.0.0.1:${port}`, reconnect: false });
    const manager = await jetstreamManager(nats);
    await manager.streams.add({ name: "JOBS", subjects: ["jobs"] });
    const first = await jetstream(nats).publish("jobs", "one", { msgID: "a" });
    const again = await jetstream(nats).publish("jobs", "one", { msgID: "a" });
    assert.deepEqual([first.seq, first.duplicate, again.seq, again.duplicate], [1, false, 1, true]);
    await nats.close();
  } finally {
    server.kill("SIGKILL");
    await ended;
    rmSync(directory, { recursive: true });
  }
});
