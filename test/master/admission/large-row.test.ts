import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { forgerAddressesMax, forgerAddressMs, hugeRequestBytes } from "../../../src/limits.ts";
import { AddressRanks } from "../../../src/master/admission/address-ranks.ts";
import { Fullest, type Sized } from "../../../src/master/admission/fullest.ts";
import { LargeRow } from "../../../src/master/admission/large-row.ts";
import { seededRandom } from "../../random.ts";

const minion = "192.0.2.1";
const stranger = "192.0.2.2";
const crowd = "192.0.2.3";

function open() {
  const ranks = new AddressRanks({ isProxy: () => false, hasProven: (address) => address === minion });
  const row = new LargeRow<ReturnType<typeof request>>(ranks);
  return { ranks, row };
}
const request = (name: string, address: string, byteLength = 100) => ({
  name,
  bytes: { byteLength },
  queuedMs: 0,
  connection: { address },
});
function takeAll(row: ReturnType<typeof open>["row"], nowMs = 0): string[] {
  const names: string[] = [];
  for (let item = row.take(nowMs); item !== undefined; item = row.take(nowMs)) names.push(item.name);
  return names;
}

describe("LargeRow", () => {
  it("lets addresses take turns: minions' first, then unknown ones, forgers last", () => {
    const { ranks, row } = open();
    ranks.noteForged(crowd, 0);
    for (const at of [1, 2])
      for (const [name, address] of Object.entries({ f: crowd, u: stranger, v: "192.0.2.9", m: minion }))
        row.add(request(`${name}${at}`, address), 0);
    assert.deepEqual(takeAll(row), ["m1", "m2", "u1", "v1", "u2", "v2", "f1", "f2"]);
    assert.deepEqual([row.count, row.bytes], [0, 0]);
  });

  it("puts an address last as soon as one of its requests was found forged, and forgets it after a while", () => {
    const { row } = open();
    const forged = request("forged", stranger);
    row.add(forged, 0);
    assert.equal(row.take(0)?.name, "forged");
    assert.ok(row.isUnderWay);
    for (const [name, address] of Object.entries({ second: stranger, other: "192.0.2.9" }))
      row.add(request(name, address), 0);
    row.settle(forged, true, 0);
    assert.equal(row.isUnderWay, false);
    assert.equal(row.next(0)?.name, "other");
    row.add(request("third", "192.0.2.10"), 0);
    assert.deepEqual(takeAll(row, forgerAddressMs), ["other", "third", "second"]);
  });

  it("lets the newest of the address with the most bytes give way, and never one of a better rank", () => {
    const { ranks, row } = open();
    for (const [name, address, bytes] of [
      ["u", stranger, 300],
      ["c1", crowd, 200],
      ["c2", crowd, 200],
      ["m", minion, 900],
    ] as const)
      row.add(request(name, address, bytes), 0);
    const out = (address: string, bytes: number) => row.crowdedOut(request("new", address, bytes), 0)?.name;
    assert.equal(out(crowd, 1), undefined, "its own address has the most");
    assert.equal(out("192.0.2.9", 300), "c2");
    assert.equal(out("192.0.2.9", 300), undefined, "no address has more than the newcomer would have");
    ranks.noteForged("192.0.2.9", 0);
    assert.equal(out("192.0.2.9", 1), undefined, "forgers take no place of others");
    assert.equal(out(minion, 1_000), "u", "a minion's address has precedence over more bytes");
    assert.deepEqual(takeAll(row), ["m", "c1"]);
  });

  it("lets many requests of one address give way to an address without any, whatever their bytes", () => {
    const { row } = open();
    for (const name of ["c1", "c2"]) row.add(request(name, crowd, 100), 0);
    assert.equal(row.crowdedOut(request("new", stranger, 1_000), 0)?.name, "c2");
    assert.equal(row.crowdedOut(request("new", stranger, 1_000), 0), undefined);
  });

  it("removes huge requests and no others", () => {
    const { row } = open();
    for (const [name, bytes] of Object.entries({ a: 100, huge: hugeRequestBytes + 1, b: hugeRequestBytes }))
      row.add(request(name, stranger, bytes), 0);
    row.add(request("alone", crowd, hugeRequestBytes + 1), 0);
    assert.deepEqual(
      row.dropHuge().map(({ name }) => name),
      ["huge", "alone"],
    );
    assert.deepEqual([row.count, row.bytes], [2, 100 + hugeRequestBytes]);
    assert.deepEqual(takeAll(row), ["a", "b"]);
    assert.deepEqual(row.dropHuge(), []);
  });
});

describe("AddressRanks", () => {
  it("counts a /64 as one address, and all proxies as one that is never a minion's", () => {
    const isProxy = (address: string) => address.startsWith("198.51.100.");
    const ranks = new AddressRanks({ isProxy, hasProven: () => true });
    assert.equal(ranks.keyOf("2001:db8::1"), ranks.keyOf("2001:db8::ffff:0:2"));
    assert.notEqual(ranks.keyOf("2001:db8::1"), ranks.keyOf("2001:db8:0:1::1"));
    assert.equal(ranks.keyOf("198.51.100.1"), ranks.keyOf("198.51.100.2"));
    assert.deepEqual([ranks.rankOf("2001:db8::1", 0), ranks.rankOf("198.51.100.1", 0)], ["known", "unknown"]);
    ranks.noteForged("198.51.100.1", 0);
    ranks.noteForged("2001:db8::1", 0);
    assert.deepEqual([ranks.rankOf("198.51.100.2", 0), ranks.rankOf("2001:db8::2", 0)], ["forger", "forger"]);
    assert.equal(ranks.rankOf("2001:db8::2", forgerAddressMs), "known");
  });

  it("remembers a bounded number of forgers, the latest", () => {
    const ranks = new AddressRanks({ isProxy: () => false, hasProven: () => false });
    for (let number = 0; number <= forgerAddressesMax; number += 1) ranks.noteForged(`a${number}`, 0);
    assert.deepEqual(
      ["a0", "a1", `a${forgerAddressesMax}`].map((address) => ranks.rankOf(address, 0)),
      ["unknown", "forger", "forger"],
    );
  });
});

describe("Fullest", () => {
  it("finds the line with the most bytes after any changes", () => {
    const heap = new Fullest<Sized>();
    const lines: Sized[] = [];
    const random = seededRandom(1);
    for (let round = 0; round < 3_000; round += 1) {
      const line = lines[random(lines.length + 1)];
      if (line === undefined || lines.length < 3) {
        const added = { bytes: random(1_000), place: 0 };
        lines.push(added);
        heap.add(added);
      } else if (random(3) === 0) {
        lines.splice(lines.indexOf(line), 1);
        heap.remove(line);
      } else {
        line.bytes = random(1_000);
        heap.resized(line);
      }
      assert.equal(heap.first?.bytes, lines.length === 0 ? undefined : Math.max(...lines.map(({ bytes }) => bytes)));
    }
  });
});
