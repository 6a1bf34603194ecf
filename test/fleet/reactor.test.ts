/** The reactor of a running master under attack: floods, templates without an end, large events, and a glob for all events. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { loadPrimes, minionKey } from "../../bench/fleet/keys.ts";
import { reactorShareOfMinion } from "../../src/limits.ts";
import type { Encodable } from "../../src/wire/values.ts";
import { readCounters, startOurMaster } from "./our-master.ts";
import { ProbeMinion } from "./probe-minion.ts";
import { runCli } from "./run-cli.ts";

const ids = ["web1", "flooder"];
const hwm = 40;
const largeBytes = 900_000;
const lookMs = 50;
const commandTimeoutMs = 60_000;

/** The condition is the event's choice: with `times: 100000` the file renders for hours. */
const spin = `
{% for a in range(data.times) %}{% for b in range(data.times) %}{% endfor %}{% endfor %}
spun:
  runner.test.arg: [{args: {spun: 1}}]
`;

describe("a reactor under attack", { timeout: 240_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), "sw-reactor-"));
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  const minions = new Map<string, ProbeMinion>();

  before(async () => {
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    write("call.sls", "call:\n  runner.test.arg: [{args: {size: {{ data.get('text', '') | length }}}}]\n");
    write("spin.sls", spin);
    write("nothing.sls", "{# nothing #}\n");
    master = await startOurMaster(ids.length, {
      ...{ open_mode: true, reactor_worker_hwm: hwm, reactor_render_timeout: 5 },
      reactor: ["call", "spin"].map((name) => ({ [`my/${name}`]: [join(folder, `${name}.sls`)] })),
    });
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), ids.length);
    for (const [index, id] of ids.entries())
      minions.set(id, await ProbeMinion.open(id, minionKey(primes, index), master.requestPort));
  });
  after(async () => {
    for (const minion of minions.values()) minion.close();
    await master?.remove();
    rmSync(folder, { recursive: true });
  });

  /** All events in one request, so that all reach the bus in one turn. */
  async function send(id: string, events: readonly { readonly tag: string; readonly data: Encodable }[]) {
    const minion = minions.get(id);
    if (minion === undefined) throw new Error(id);
    await minion.ask(minion.seal({ cmd: "_minion_event", events, pretag: null }));
  }

  async function counts(): Promise<(name: string) => number> {
    const client = master.client();
    const { main } = await readCounters(client);
    client.close();
    return (name) => main.get(`reactions.${name}`) ?? 0;
  }

  /** Waits until a counter has grown by `growth`; the suite's time limit bounds it. */
  async function untilGrown(before: (name: string) => number, name: string, growth: number) {
    for (;;) {
      const now = await counts();
      if (now(name) >= before(name) + growth) return now;
      await sleep(lookMs);
    }
  }

  it("leaves room for others while one minion floods", async () => {
    const earlier = await counts();
    const flood = Array.from({ length: 10 * hwm }, () => ({ tag: "my/call", data: { id: "flooder" } }));
    await send("flooder", flood);
    await send("web1", [{ tag: "my/call", data: {} }]);
    // The first of the flood is rendered at once, and a share of the places is left to its followers.
    const taken = 1 + hwm * reactorShareOfMinion;
    const now = await untilGrown(earlier, "runner.done", taken + 1);
    assert.equal(now("dropped") - earlier("dropped"), flood.length - taken);
    assert.match(master.logTail(), /the reactor drops an event/);
  });

  it("takes large events", async () => {
    const earlier = await counts();
    await send("web1", [{ tag: "my/call", data: { text: "x".repeat(largeBytes) } }]);
    const now = await untilGrown(earlier, "runner.done", 1);
    assert.deepEqual([now("failed"), now("runner.failed")], [earlier("failed"), earlier("runner.failed")]);
  });

  it("goes on after a file that does not end, which then rests", async () => {
    const earlier = await counts();
    await send("flooder", [{ tag: "my/spin", data: { times: 100_000 } }]);
    await send("web1", [{ tag: "my/call", data: {} }]);
    const now = await untilGrown(earlier, "runner.done", 1);
    assert.equal(now("timeouts") - earlier("timeouts"), 1);
    // The entry rests: its next event is neither rendered nor counted.
    await send("web1", [
      { tag: "my/spin", data: { times: 1 } },
      { tag: "my/call", data: {} },
    ]);
    const later = await untilGrown(now, "runner.done", 1);
    assert.equal(later("taken") - now("taken"), 1);
  });

  it("reacts to all events but its own", async () => {
    const words = ["run", "-c", master.configDirectory, "reactor.add", "*", join(folder, "nothing.sls")];
    const { exitCode, stderr } = await runCli(words, commandTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    const earlier = await counts();
    await send("web1", [{ tag: "my/call", data: {} }]);
    // Two events of the call, which would start a call each if the reactor obeyed them.
    const now = await untilGrown(earlier, "own", 2);
    assert.equal(now("runner.done") - earlier("runner.done"), 1);
  });
});
