/** A stranger authenticates in the names of all minions and of invented ones: no minion waits, no return is lost. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Dealer } from "zeromq";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { finishAuth, startAuth } from "../../../bench/fleet/handshake.ts";
import { defaultKeyDirectory, loadPrimes, type MinionKey, minionKey } from "../../../bench/fleet/keys.ts";
import type { LocalClient } from "../../../bench/local-client.ts";
import type { MasterProcess } from "../../../bench/master-process.ts";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { encodeClearRequest } from "../../../src/wire/request.ts";
import { readCounters, startOurMaster } from "../our-master.ts";

const minionCount = 20;
const jobCount = 5;
/** Number of different requests in the flood. */
const frameCount = 600;
/** Requests in one turn of the event loop: few, because the minion in this process needs turns, too. */
const burstCount = 20;
const probeCount = 10;
/** The timeout of Salt's minions. */
const authTimeoutMs = 5_000;
const deadlineMs = 60_000;

describe("a flood of authentications in others' names", () => {
  let master: MasterProcess;
  let client: LocalClient;
  let fleet: Fleet | undefined;
  let probeKey: MinionKey;

  before(async () => {
    master = await startOurMaster(minionCount, {});
    client = master.client();
    const primes = await loadPrimes(defaultKeyDirectory(), minionCount + 1);
    const accept = (id: string, index: number) => {
      const key = minionKey(primes, index);
      writeFileSync(join(master.pkiDirectory, "minions", id), key.publicPem);
      return key;
    };
    for (let index = 0; index < minionCount; index += 1) accept(`sim-${index}`, index);
    probeKey = accept("probe", minionCount);
    fleet = await openFleet({ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount });
    await fleet.untilUp(deadlineMs);
  });
  after(async () => {
    await fleet?.close();
    client?.close();
    await master?.remove();
  });

  /** Sends until told to stop, whatever the replies. */
  async function flood(socket: Dealer, signal: AbortSignal): Promise<void> {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 1_024 });
    const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
    const frames = Array.from({ length: frameCount }, (_, index) => {
      const id = [`sim-${index % minionCount}`, "probe", `made-up-${index}`][index % 3];
      // Different bytes each time, so that each counts as another key.
      const pub = `${pem}${"\n".repeat(index % 40)}`;
      return encodeClearRequest({ cmd: "_auth", id, nonce: "n".repeat(32), pub }, 3);
    });
    for (let sent = 0; !signal.aborted; sent += 1) {
      await socket.send(["", frames[sent % frameCount] ?? ""]);
      if (sent % burstCount === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  it("delays no minion's authentication beyond its patience, and loses no return", async () => {
    const socket = new Dealer({ linger: 0 });
    const stop = new AbortController();
    socket.connect(`tcp://127.0.0.1:${master.requestPort}`);
    const channel = new RequestChannel({
      endpoint: `tcp://127.0.0.1:${master.requestPort}`,
      timeoutMs: authTimeoutMs,
      tries: 1,
    });
    try {
      const flooded = flood(socket, stop.signal);
      for (let count = 0; count < jobCount; count += 1) await client.publish("*", "test.ping");
      for (let count = 0; count < probeCount; count += 1) {
        const attempt = startAuth("probe", probeKey, 3, undefined);
        const outcome = finishAuth(attempt, await channel.request(attempt.request), probeKey, 3, undefined);
        assert.equal(outcome.kind, "accepted");
      }
      const wanted = jobCount * minionCount;
      const sums = await fleet?.until("all returns", (now) => now.returnsAcknowledged >= wanted, deadlineMs);
      stop.abort();
      await flooded;
      assert.deepEqual([sums?.requestsTimedOut, sums?.returnsRepeated, sums?.returnsLost], [0, 0, 0]);
      const { main } = await readCounters(client);
      assert.ok(Number(main.get("authsCoalesced")) > 0, "the flood met itself in the queue");
    } finally {
      stop.abort();
      channel.close();
      socket.close();
    }
  });
});
