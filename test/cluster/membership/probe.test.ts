/** Whether a peer's server has the same secret, asked of a real server. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePorts } from "../../../bench/free-ports.ts";
import type { Member } from "../../../src/cluster/member.ts";
import { probePeer } from "../../../src/cluster/membership/probe.ts";
import { clusterProbeMs } from "../../../src/limits.ts";
import { natsServerSkip } from "../../services/nats-server.ts";
import { kill, startPrepared, testKeys, testMember } from "../own-server.ts";

const skip = await natsServerSkip();

describe("the check of a secret against a peer's server", { skip, timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "saltworks-probe-"));
  let member: Member;
  let server: ChildProcess | undefined;
  before(async () => {
    member = await testMember(directory);
    server = (await startPrepared(member, testKeys(1))).process;
  });
  after(async () => {
    await kill(server);
    rmSync(directory, { recursive: true });
  });
  const probe = (byte: number) => probePeer(`127.0.0.1:${member.poolPort}`, testKeys(byte), "joiner");

  it("knows the same secret, and another one", async () => {
    assert.equal((await probe(1)).state, "same");
    assert.equal((await probe(2)).state, "other");
  });

  it("says why a server cannot be reached", async () => {
    const [port] = await freePorts(1);
    const probed = await probePeer(`127.0.0.1:${port}`, testKeys(1), "joiner");
    assert.deepEqual(probed, { peer: `127.0.0.1:${port}`, state: "unreachable", why: "ECONNREFUSED" });
  });

  it("does not wait for a server that says nothing", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    const startedMs = performance.now();
    const { state } = await probePeer(`127.0.0.1:${port}`, testKeys(1), "joiner");
    assert.equal(state, "unreachable");
    assert.ok(performance.now() - startedMs < clusterProbeMs * 3);
    silent.close();
  });
});
