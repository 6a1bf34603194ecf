import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadPrimes, minionKey } from "../../bench/fleet/keys.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { startOurMaster } from "./our-master.ts";
import { ProbeMinion } from "./probe-minion.ts";

const deadline = { timeout: 120_000 };
/** Hours of work on any machine: each pass of the innermost loop renders a filter. */
const slow = `${"{% for a in range(10000) %}".repeat(3)}{% set x = a|string %}${"{% endfor %}".repeat(3)}slow: done\n`;

describe("pillars of a running master", deadline, () => {
  let root: string;
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let primes: string[];
  let minions: ProbeMinion[];
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };

  before(async () => {
    root = mkdtempSync(join(tmpdir(), "sw-pillars-"));
    write("top.sls", "base:\n  '*': [common]\n  'slow*': [slow]\n  'G@role:web': [web]\n  'bad*': [bad]\n");
    write("common.sls", "id: {{ grains.id }}\nnumbers: [1, 2.0]\n");
    write("web.sls", "role: web\nport: 80\n");
    write("slow.sls", slow);
    write("bad.sls", "{{ nothere }}\n");
    master = await startOurMaster(3, {
      open_mode: true,
      pillar_roots: { base: [root] },
      pillar_threads: 1,
      pillar_render_timeout: 3,
    });
    primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), 4);
    minions = await Promise.all(
      ["web1", "bad1"].map((id, index) => ProbeMinion.open(id, minionKey(primes, index), master.requestPort)),
    );
  });
  after(async () => {
    for (const minion of minions) minion.close();
    await master.remove();
    rmSync(root, { recursive: true, force: true });
  });

  const minionOf = (id: string): ProbeMinion => {
    const found = minions.find((minion) => minion.id === id);
    if (found === undefined) throw new Error(id);
    return found;
  };
  const ask = (id: string, grains: Record<string, string>): Promise<ValueMap> =>
    minionOf(id).pillar(grains, master.requestPort) as Promise<ValueMap>;

  it("come rendered for the minion that asks, and are kept for targeting", async () => {
    // A pillar target may match a minion without known data, so the master expects it.
    await ask("bad1", { id: "bad1" });
    const pillar = await ask("web1", { id: "web1", role: "web" });
    assert.deepEqual([pillar.get("id"), pillar.get("role"), pillar.get("port")], ["web1", "web", 80]);
    const client = master.client();
    const job = await client.publish("I@port:80", "test.ping", [], "compound");
    assert.deepEqual(job.minions, ["web1"]);
  });

  it("are rendered anew when a file changes", async () => {
    write("web.sls", "role: web\nport: 8080\n");
    assert.equal((await ask("web1", { id: "web1", role: "web" })).get("port"), 8_080);
    const job = await master.client().publish("I@port:8080", "test.ping", [], "compound");
    assert.deepEqual(job.minions, ["web1"]);
  });

  it("say in _errors what is wrong and not how, which the log says with file and line", async () => {
    const pillar = await ask("bad1", { id: "bad1" });
    assert.deepEqual(pillar.get("_errors"), ["Rendering SLS 'bad' failed. Please see master log for details."]);
    assert.equal(pillar.get("id"), "bad1");
    const fault = `Jinja variable 'nothere' is undefined; line 1; file ${join(root, "bad.sls")}`;
    assert.ok(master.logTail().includes(fault), master.logTail());
  });

  it("that take long delay no return, and end at pillar_render_timeout with a pillar that says so", async () => {
    minions.push(await ProbeMinion.open("slow1", minionKey(primes, 2), master.requestPort));
    let isRendered = false;
    const slowPillar = ask("slow1", { id: "slow1" }).finally(() => {
      isRendered = true;
    });
    let returns = 0;
    for (; returns < 50 && !isRendered; returns += 1)
      await minionOf("web1").return(`20260101000000${String(returns).padStart(6, "0")}`);
    // A delayed one would wait for the pillar.
    assert.ok(returns > 2, `${returns} returns beside the pillar`);
    assert.deepEqual((await slowPillar).get("_errors"), [
      "Rendering the pillar took longer than pillar_render_timeout (3 seconds).",
    ]);
    // The ended thread is replaced.
    assert.equal((await ask("web1", { id: "web1", role: "web" })).get("port"), 8_080);
  });
});
