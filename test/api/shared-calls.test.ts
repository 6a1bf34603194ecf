/** Requests that only read share a call of the master: which of them, and how fresh their answers are. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate as endOfTurn } from "node:timers/promises";
import { SharedCalls } from "../../src/api/admission/shared-calls.ts";
import { ApiSite } from "./api-site.ts";

class Master {
  readonly #open: ((outcome: number | Error) => void)[] = [];

  get calls(): number {
    return this.#open.length;
  }

  readonly call = () =>
    new Promise<number>((resolve, reject) => {
      this.#open.push((outcome) => (typeof outcome === "number" ? resolve(outcome) : reject(outcome)));
    });

  answer(call: number, outcome: number | Error): void {
    this.#open[call]?.(outcome);
  }
}

describe("shared calls", () => {
  it("answer all that came while one ran by the next one, which begins when that is over", async () => {
    const master = new Master();
    const calls = new SharedCalls<number>();
    const first = [1, 2].map(() => calls.ask("a", master.call));
    await endOfTurn();
    const later = [1, 2, 3].map(() => calls.ask("a", master.call));
    const other = calls.ask("b", master.call);
    assert.equal(master.calls, 1, "the first two came together");
    await endOfTurn();
    assert.equal(master.calls, 2, "another key has its own call");
    master.answer(0, 10);
    assert.deepEqual(await Promise.all(first), [10, 10]);
    assert.equal(master.calls, 3);
    const latest = calls.ask("a", master.call);
    await endOfTurn();
    assert.equal(master.calls, 3, "it came while the second call ran");
    master.answer(2, 20);
    assert.deepEqual(await Promise.all(later), [20, 20, 20]);
    master.answer(3, 30);
    master.answer(1, 40);
    assert.deepEqual([await latest, await other], [30, 40]);
    assert.deepEqual(calls.counters, { calls: 4, shared: 3 });
    const alone = calls.ask("a", master.call);
    await endOfTurn();
    assert.equal(master.calls, 5, "nothing is kept");
    master.answer(4, 50);
    assert.equal(await alone, 50);
  });

  it("that fail do so for those who share them, and the next one is made all the same", async () => {
    const master = new Master();
    const calls = new SharedCalls<number>();
    const first = calls.ask("a", master.call);
    await endOfTurn();
    const second = calls.ask("a", master.call);
    master.answer(0, new Error("away"));
    await assert.rejects(first, /away/);
    master.answer(1, 2);
    assert.equal(await second, 2);
  });
});

describe("wheel functions through the HTTP API", () => {
  let site: ApiSite;
  before(async () => {
    let count = 0;
    const wheel = () => {
      count += 1;
      return { tag: `salt/wheel/${count}`, data: { jid: `${count}`, return: { minions: ["a"] }, success: true } };
    };
    site = await ApiSite.start({ wheel }, {}, { netapi_enable_clients: ["wheel"] });
  });
  after(async () => await site.close());

  const post = async (chunk: object, id: string) => {
    const headers = { "X-Auth-Token": id, "content-type": "application/json" };
    const answer = await site.fetch("/", { method: "POST", headers, body: JSON.stringify(chunk) });
    assert.equal(answer.status, 200);
    return ((await answer.json()) as { return: { data: { return: unknown } }[] }).return[0]?.data.return;
  };

  it("share calls of one session that only read and have no arguments", async () => {
    const id = await site.login();
    const { counters } = site.api.wheelCalls;
    const listing = { client: "wheel", fun: "key.list_all" };
    const found = await Promise.all(Array.from({ length: 20 }, () => post(listing, id)));
    for (const value of found) assert.deepEqual(value, { minions: ["a"] });
    assert.equal(counters.calls + counters.shared, 20);
    const asked = site.master.requests.filter((load) => load.get("cmd") === "wheel").length;
    assert.equal(asked, counters.calls);
    await post({ client: "wheel", fun: "key.accept", match: "a" }, id);
    await post({ client: "wheel", fun: "key.gen" }, id);
    await post({ ...listing, note: "an argument" }, id);
    assert.equal(counters.calls + counters.shared, 20, "these were asked for by themselves");
  });
});
