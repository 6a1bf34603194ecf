/** Minions of a running master read each other's mines, up to the largest permitted answers. */
import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadPrimes, minionKey } from "../../bench/fleet/keys.ts";
import type { Encodable, Value } from "../../src/wire/values.ts";
import { readCounters, startOurMaster, sumOf } from "./our-master.ts";
import { ProbeMinion } from "./probe-minion.ts";

const ids = ["db1", "web1", "web2", "web3"];
const large = "x".repeat(9 * 1024 * 1024);

describe("mines of a running master", { timeout: 120_000 }, () => {
  let master: Awaited<ReturnType<typeof startOurMaster>>;
  let minions: ReadonlyMap<string, ProbeMinion>;

  before(async () => {
    const nodegroups = { front: "web* and G@role:web", pair: ["web1", "web2"], loop: "N@loop" };
    master = await startOurMaster(4, {
      open_mode: true,
      nodegroups,
      mine_get: { "web.*|db1": [".*"], web3: [] },
      mine_max_bytes: 16 * 1024 * 1024,
    });
    const primes = await loadPrimes(join(tmpdir(), "sw-test-keys"), ids.length + 1);
    const opened = ids.map((id, index) => ProbeMinion.open(id, minionKey(primes, index), master.requestPort));
    minions = new Map((await Promise.all(opened)).map((minion) => [minion.id, minion]));
  });
  after(async () => {
    for (const minion of minions.values()) minion.close();
    await master.remove();
  });

  async function ask(id: string, load: Readonly<Record<string, Encodable>>): Promise<Value> {
    const minion = minions.get(id);
    if (minion === undefined) throw new Error(id);
    return minion.ask(minion.seal(load));
  }

  /** Maps as plain objects, which compare in any order. */
  async function get(id: string, tgt: Encodable, fun: Encodable, kind: Encodable = "glob"): Promise<unknown> {
    return plain(await ask(id, { cmd: "_mine_get", tgt, fun, tgt_type: kind }));
  }

  it("are read as they are now, by minion or by function", async () => {
    for (const id of ids) await ask(id, { cmd: "_mine", data: { ip: `ip of ${id}`, name: id }, clear: false });
    await ask("web2", { cmd: "_mine_delete", fun: "name" });
    assert.deepEqual(await get("db1", "web*", "ip"), {
      web1: "ip of web1",
      web2: "ip of web2",
      web3: "ip of web3",
    });
    assert.deepEqual(await get("db1", ["web2", "db1", "nobody"], ["name", "none"], "list"), { name: { db1: "db1" } });
    assert.deepEqual(await get("db1", "web*", "none"), {});
  });

  it("are found by known grains and pillars; a minion without them does not match", async () => {
    await minions.get("web1")?.pillar({ id: "web1", role: "web" }, master.requestPort);
    const ofRole = { web1: "ip of web1" };
    assert.deepEqual(await get("db1", "role:web", "ip", "grain"), ofRole);
    assert.deepEqual(await get("db1", "G@role:web and web*", "ip", "compound"), ofRole);
    assert.deepEqual(await get("db1", "front", "ip", "nodegroup"), ofRole);
    assert.deepEqual(await get("db1", "N@pair and N@front", "ip", "compound"), ofRole);
    assert.deepEqual(await get("db1", "N@loop or web1", "ip", "compound"), {});
    assert.deepEqual(await get("db1", "N@none", "ip", "compound"), {});
    assert.deepEqual(
      Object.keys((await get("db1", "web* and not G@role:web", "ip", "compound")) as object).toSorted(),
      ["web2", "web3"],
    );
    assert.deepEqual(await get("db1", "role:none", "ip", "grain"), {});
  });

  it("hold entries that are for some minions only", async () => {
    const entry = { __data__: "secret", __saltmine_acl__: 1, allow_tgt: "role:web", allow_tgt_type: "grain" };
    await ask("db1", { cmd: "_mine", data: { secret: entry }, clear: false });
    assert.deepEqual(await get("web1", "*", "secret"), { db1: "secret" });
    assert.deepEqual(await get("web2", "*", "secret"), {});
  });

  it("come in megabytes, and not at all in more than the limit", async () => {
    for (const id of ["web1", "web2", "web3"]) await ask(id, { cmd: "_mine", data: { large }, clear: false });
    const found = (await get("db1", "*", "large")) as Record<string, string>;
    assert.deepEqual(Object.entries(found).toSorted(), [
      ["web1", large],
      ["web2", large],
      ["web3", large],
    ]);
    await ask("db1", { cmd: "_mine", data: { large }, clear: false });
    assert.match(String(await get("db1", "*", "large")), /^mine\.get refused by the master/);
    const counters = await readCounters(master.client());
    assert.equal(sumOf(counters, /^mines\.tooLarge$/), 1);
    assert.equal(sumOf(counters, /^mines\.pending$/), 0);
  });
});

function plain(value: Value): unknown {
  return value instanceof Map ? Object.fromEntries([...value].map(([key, member]) => [key, plain(member)])) : value;
}
