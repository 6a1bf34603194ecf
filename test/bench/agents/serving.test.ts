/** A bench that is served: messages are relayed both ways, and each side notices when the other is gone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openAgents } from "../../../bench/agents/agents.ts";
import { measureClock } from "../../../bench/agents/clock.ts";
import { RemoteHost } from "../../../bench/agents/remote-host.ts";
import { AgentSite, key, version } from "./fixture.ts";

const need = { least: 1, wanted: 1 };

describe("a process of an agent", () => {
  it("hears what it is told, and its answers come back", async () => {
    const site = await AgentSite.open();
    const host = await site.connect();
    const plan = {
      kind: "plan",
      lane: "return",
      plannedMs: Float64Array.from({ length: 300_000 }, (_, at) => at),
    } as const;
    await new Promise<void>((resolve, reject) => {
      const onMessage = ({ kind }: { kind: string }): void => (kind === "done" ? resolve() : reject(new Error(kind)));
      host.start(need, { onMessage, onFault: reject }).send(plan);
    });
    assert.deepEqual(site.host.told, [plan]);
    await host.close();
    assert.equal(site.host.running, 0);
    await site.line(/^the bench from .* ended: it was done$/);
    await site.agent.close();
  });

  it("that fails is told with the agent's name", async () => {
    const site = await AgentSite.open();
    const host = await site.connect();
    const fault = new Promise<Error>((onFault) => {
      host.start(need, { onMessage: () => undefined, onFault }).send({ kind: "stop" });
    });
    // The process exists once it was told something.
    while (site.host.told.length === 0) await new Promise((resolve) => setImmediate(resolve));
    site.host.events?.onFault(new Error("no room"));
    assert.match((await fault).message, /^the agent 127\.0\.0\.1:\d+ says: no room$/);
    await host.close();
    await site.agent.close();
  });
});

describe("a connection that breaks", () => {
  it("ends the processes of the agent, which then serves the next bench", async () => {
    const site = await AgentSite.open({ everyMs: 20, silentMax: 5 });
    // A bench that never beats.
    const mute = { everyMs: 60_000, silentMax: 1 };
    const host = await RemoteHost.open({ address: site.agent.address, key, version, beats: mute });
    const link = host.start(need, { onMessage: () => undefined, onFault: () => undefined });
    await site.line(/^the bench from .* ended: nothing came for 0\.1 s$/);
    await link.hasEnded;
    const next = await site.connect();
    assert.equal(site.host.running, 0);
    await next.close();
    await site.agent.close();
  });

  it("aborts the run with an error that names the agent", async () => {
    const [one, other] = [await AgentSite.open(), await AgentSite.open()];
    const { signal } = new AbortController();
    const addresses = [one.agent.address, other.agent.address];
    const agents = await openAgents({ addresses, key }, { version, masterHost: "127.0.0.1", signal });
    const fault = new Promise<Error>((onFault) => {
      agents.hosts[1]?.start(need, { onMessage: () => undefined, onFault });
    });
    const aborted = new Promise((resolve) => agents.signal.addEventListener("abort", resolve));
    await other.agent.close();
    await aborted;
    const lost = { code: "CHANNEL_CLOSED", message: /^the agent 127\.0\.0\.1:\d+ is lost: the connection was closed$/ };
    assert.throws(() => agents.demandAll(), lost);
    assert.match((await fault).message, lost.message);
    await agents.close();
    await one.agent.close();
  });
});

describe("measureClock", () => {
  it("takes the offset from the shortest round trip, and half of it as uncertainty", async () => {
    let trips = 0;
    const clock = await measureClock(async () => {
      trips += 1;
      const nowMs = Date.now() + 5_000;
      if (trips !== 3) await new Promise((resolve) => setTimeout(resolve, 30));
      return nowMs;
    });
    assert.ok(Math.abs(clock.offsetMs - 5_000) <= clock.uncertaintyMs, JSON.stringify(clock));
    assert.ok(clock.roundTripMs < 30);
    assert.equal(clock.uncertaintyMs, clock.roundTripMs / 2 + 1);
  });
});
