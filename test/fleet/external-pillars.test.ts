/** External pillar sources and kept pillars on a running master: a slow command delays no other minion; a minion gets only what it may ask for. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { loadPrimes, minionKey } from "../../bench/fleet/keys.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";
import { plainJson } from "../plain.ts";
import { readCounters, startOurMaster } from "./our-master.ts";
import { ProbeMinion } from "./probe-minion.ts";
import { runCli } from "./run-cli.ts";

const commandTimeoutMs = 60_000;
const deadline = { timeout: 180_000 };
type Master = Awaited<ReturnType<typeof startOurMaster>>;

class Bed {
  readonly root = mkdtempSync(join(tmpdir(), "sw-external-"));
  readonly #minions: ProbeMinion[] = [];
  #master: Master | undefined;

  get master(): Master {
    if (this.#master === undefined) throw new Error("not started");
    return this.#master;
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.root, path, ".."), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  async start(ids: readonly string[], config: Readonly<Record<string, unknown>>): Promise<void> {
    this.#master = await startOurMaster(ids.length, {
      open_mode: true,
      pillar_roots: { base: [this.root] },
      ...config,
    });
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), ids.length);
    for (const [index, id] of ids.entries())
      this.#minions.push(await ProbeMinion.open(id, minionKey(primes, index), this.master.requestPort));
  }

  async ask(id: string, more: { readonly [key: string]: Encodable } = {}): Promise<ValueMap> {
    const minion = this.#minions.find((one) => one.id === id);
    if (minion === undefined) throw new Error(id);
    return (await minion.pillar({ id }, this.master.requestPort, more)) as ValueMap;
  }

  async run(...words: readonly string[]): Promise<unknown> {
    const args = ["run", "-c", this.master.configDirectory, "--out=json", ...words];
    const { exitCode, stdout, stderr } = await runCli(args, commandTimeoutMs);
    assert.equal(exitCode, 0, stderr);
    return JSON.parse(stdout);
  }

  async close(): Promise<void> {
    for (const minion of this.#minions) minion.close();
    await this.#master?.remove();
    rmSync(this.root, { recursive: true, force: true });
  }
}

describe("external sources of a running master", deadline, () => {
  const bed = new Bed();
  before(async () => {
    bed.write("top.sls", "base: {'*': [a]}\n");
    bed.write("a.sls", "a: file\n");
    bed.write("script.sh", 'case "$1" in slow*) sleep 600;; esac\necho "id: $1"\necho "secret: none$NODE_OPTIONS"\n');
    await bed.start(["web1", "slow1", "slow2", "a;b"], {
      pillar_threads: 1,
      ext_pillar_timeout: 15,
      ext_pillar: [
        { cmd_yaml: `sh ${join(bed.root, "script.sh")} '%s'` },
        { extra_minion_data_in_pillar: { include: ["hi"] } },
      ],
    });
  });
  after(() => bed.close());

  it("come with every pillar, and a slow command delays no other minion", async () => {
    // The first pillar starts the threads.
    await bed.ask("web1");
    let lateCount = 0;
    const late = ["slow1", "slow2"].map(async (id) => {
      const pillar = await bed.ask(id);
      lateCount += 1;
      return pillar;
    });
    for (let round = 0; round < 3; round += 1)
      assert.deepEqual(plainJson(await bed.ask("web1")), { a: "file", id: "web1", secret: "none" });
    assert.equal(lateCount, 0);
    for (const pillar of await Promise.all(late))
      assert.deepEqual(plainJson(pillar), {
        a: "file",
        _errors: ["Failed to load ext_pillar cmd_yaml: the commands took longer than ext_pillar_timeout (15 seconds)"],
      });
  });

  it("are given no id that a shell would read, and take what the minion may send", async () => {
    assert.match(String((await bed.ask("a;b")).get("_errors")), /the minion's id holds characters/);
    const pillar = await bed.ask("web1", { extra_minion_data: { hi: "there", secret: "mine" }, ext: { git: ["x"] } });
    assert.equal(pillar.get("hi"), "there");
    assert.equal(pillar.get("secret"), "none");
    assert.match(String(pillar.get("_errors")), /module git is not allowed for on-demand/);
  });

  it("are seen by pillar.show_pillar and counted", async () => {
    assert.equal(((await bed.run("pillar.show_pillar", "web1")) as { readonly id: string }).id, "web1");
    const counters = await readCounters(bed.master.client());
    assert.ok(Number(counters.main.get("pillarCommands.ended")) >= 5);
    assert.equal(counters.main.get("pillarCommands.timeout"), 2);
    assert.equal(counters.main.get("pillarCommands.failed"), 1);
  });
});

describe("pillar_cache of a running master", deadline, () => {
  const bed = new Bed();
  const folder = () => join(bed.master.cacheDirectory, "pillar_cache");
  before(async () => {
    bed.write("top.sls", "base: {'*': [a]}\n");
    bed.write("a.sls", "a: 1\n");
    bed.write("bad.sls", "{{ nothere }}\n");
    await bed.start(["web1", "web2"], { pillar_cache: true, pillar_cache_ttl: 600 });
  });
  after(() => bed.close());

  it("answers from a file that only the master may read, until the minion asks for a new one", async () => {
    assert.equal((await bed.ask("web1")).get("a"), 1);
    assert.equal(statSync(folder()).mode & 0o777, 0o700);
    assert.equal(statSync(join(folder(), "web1")).mode & 0o777, 0o600);
    bed.write("a.sls", "a: 2\n");
    assert.deepEqual(plainJson(await bed.ask("web1")), { a: 1 });
    assert.deepEqual(plainJson(await bed.ask("web1", { pillar_override: { b: 3 } })), { a: 1, b: 3 });
    assert.deepEqual(plainJson(await bed.ask("web1")), { a: 1 });
    // A pillar of another environment is kept separately.
    assert.deepEqual(plainJson(await bed.ask("web1", { pillarenv: "base" })), { a: 2 });
    assert.deepEqual(plainJson(await bed.ask("web1", { clean_cache: true })), { a: 2 });
  });

  it("is shown and emptied by its runner functions", async () => {
    assert.deepEqual(await bed.run("pillar.show_pillar_cache", "web*"), { web1: { a: 2 } });
    bed.write("a.sls", "a: 3\n");
    assert.deepEqual(await bed.run("pillar.show_pillar", "web1"), { a: 3 });
    assert.deepEqual(plainJson(await bed.ask("web1")), { a: 2 });
    assert.deepEqual(await bed.run("pillar.clear_pillar_cache", "web1"), {});
    assert.deepEqual(readdirSync(folder()), []);
    assert.deepEqual(plainJson(await bed.ask("web1")), { a: 3 });
  });

  it("cannot be kept, and comes all the same, until it can", async () => {
    rmSync(folder(), { recursive: true });
    writeFileSync(folder(), "");
    assert.deepEqual(plainJson(await bed.ask("web1")), { a: 3 });
    bed.write("a.sls", "a: 4\n");
    assert.deepEqual(plainJson(await bed.ask("web1", { clean_cache: true })), { a: 4 });
    assert.equal((await readCounters(bed.master.client())).main.get("pillarCache.unkept"), 2);
    assert.match(bed.master.logTail(), /a pillar could not be kept/);
    rmSync(folder());
    bed.write("a.sls", "a: 3\n");
    assert.deepEqual(plainJson(await bed.ask("web1")), { a: 3 });
    assert.deepEqual(readdirSync(folder()), ["web1"]);
  });

  it("keeps no pillar with errors, and none of a minion whose key is gone", async () => {
    bed.write("top.sls", "base: {'*': [a, bad]}\n");
    assert.ok((await bed.ask("web2")).has("_errors"));
    bed.write("top.sls", "base: {'*': [a]}\n");
    assert.deepEqual(plainJson(await bed.ask("web2")), { a: 3 });
    assert.deepEqual(readdirSync(folder()).sort(), ["web1", "web2"]);
    const removed = await runCli(["key", "-c", bed.master.configDirectory, "-y", "-d", "web2"], commandTimeoutMs);
    assert.equal(removed.exitCode, 0, removed.stderr);
    for (const until = Date.now() + 30_000; readdirSync(folder()).length > 1; await sleep(20))
      assert.ok(Date.now() < until, "the kept pillar is still there");
  });
});
