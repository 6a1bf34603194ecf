import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FairQueue, type Waiter } from "../../../src/master/admission/fair-queue.ts";

const waiter = (address: string, user: string): Waiter => ({ address, user });

function taken(turns: FairQueue<Waiter>): string[] {
  const order: string[] = [];
  for (let next = turns.take(); next !== undefined; next = turns.take()) order.push(`${next.address}${next.user}`);
  return order;
}

describe("FairQueue", () => {
  it("gives addresses their turn, and users within an address", () => {
    const turns = new FairQueue<Waiter>(10);
    for (const [address, user] of ["Aa", "Aa", "Aa", "Ab", "Bc", "Bc"].map((name) => [...name] as [string, string]))
      assert.equal(turns.offer(waiter(address, user)), undefined);
    assert.deepEqual(taken(turns), ["Aa", "Bc", "Ab", "Bc", "Aa", "Aa"]);
    assert.equal(turns.count, 0);
  });

  it("takes a place from the address with the most, and there from the user with the most", () => {
    const turns = new FairQueue<Waiter>(6);
    const crowd = ["a", "a", "a", "b", "c", "d"].map((user) => waiter("A", user));
    for (const item of crowd) turns.offer(item);
    assert.equal(turns.offer(waiter("B", "x")), crowd[2], "the newest of user a");
    assert.equal(turns.count, 6);
    assert.deepEqual(taken(turns), ["Aa", "Bx", "Ab", "Ac", "Ad", "Aa"]);
  });

  it("refuses a new waiter that would have as many places as the others", () => {
    const turns = new FairQueue<Waiter>(4);
    for (const address of ["A", "A", "B", "B"]) turns.offer(waiter(address, "u"));
    const late = waiter("A", "u");
    assert.equal(turns.offer(late), late);
    const other = waiter("C", "u");
    assert.notEqual(turns.offer(other), other, "one without any place has a right to one");
    assert.equal(turns.count, 4);
  });

  it("keeps a user of a crowded address from filling it", () => {
    const turns = new FairQueue<Waiter>(4);
    for (let index = 0; index < 4; index += 1) turns.offer(waiter("A", "guess"));
    assert.equal(turns.offer(waiter("A", "ann"))?.user, "guess");
    assert.deepEqual(taken(turns).slice(0, 2), ["Aguess", "Aann"]);
  });

  it("gives a new waiter a place by chance if every address, or every user of its address, has one", () => {
    const places: Waiter[] = ["A", "B", "C", "D"].map((address) => waiter(address, "u"));
    const addresses = new FairQueue<Waiter>(4, (below) => below - 2);
    for (const item of places) addresses.offer(item);
    assert.equal(addresses.offer(waiter("E", "u")), places[2]);
    const another = waiter("E", "u");
    assert.equal(addresses.offer(another), another, "one that has a place waits for it");
    assert.deepEqual(taken(addresses), ["Au", "Bu", "Du", "Eu"]);

    const users = new FairQueue<Waiter>(4, () => 1);
    const guesses = ["w", "x", "y", "z"].map((user) => waiter("A", user));
    for (const item of guesses) users.offer(item);
    assert.equal(users.offer(waiter("A", "ann")), guesses[1]);
    const again = waiter("A", "ann");
    assert.equal(users.offer(again), again);
    assert.deepEqual(taken(users), ["Aw", "Ay", "Az", "Aann"]);
  });

  it("gives a user of a crowded address a place of that address where another address is as crowded", () => {
    const turns = new FairQueue<Waiter>(6, () => 0);
    for (const [address, user] of ["Aa", "Ab", "Ac", "Bx", "By", "Bz"].map((name) => [...name] as [string, string]))
      turns.offer(waiter(address, user));
    assert.equal(turns.offer(waiter("B", "ann"))?.user, "x");
    assert.deepEqual(taken(turns), ["Aa", "By", "Ab", "Bz", "Ac", "Bann"]);
  });

  it("keeps nothing of waiters that are gone, after any order of turns", () => {
    const turns = new FairQueue<Waiter>(16);
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    for (let round = 0; round < 5_000; round += 1) {
      if (random(3) > 0) turns.offer(waiter(`${random(4)}`, `${random(3)}`));
      else turns.take();
      assert.ok(turns.count <= 16);
    }
    const { count } = turns;
    assert.equal(taken(turns).length, count);
    assert.equal(turns.take(), undefined);
  });
});
