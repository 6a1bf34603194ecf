import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  owingAddressesMax,
  provenAddressesMax,
  provenAddressMs,
  unfinishedBytesOwedMax,
  unfinishedBytesPerSecondMax,
} from "../../../src/limits.ts";
import { UnfinishedDebts } from "../../../src/transport/zmtp/unfinished-debts.ts";

const freeBytes = 10_000_000;

describe("UnfinishedDebts", () => {
  it("lets an address leave one message, and charges more", () => {
    const debts = new UnfinishedDebts(freeBytes);
    assert.equal(debts.charge("a", freeBytes, 0), false);
    assert.equal(debts.owes("a", 0), false);
    assert.equal(debts.charge("a", 1_000, 0), true, "it owes from now on");
    assert.equal(debts.charge("a", 1_000, 0), false, "it did already");
    assert.deepEqual([debts.owes("a", 0), debts.owes("b", 0)], [true, false]);
    assert.equal(debts.chargedBytes, freeBytes + 2_000);
  });

  it("lets the debt run down, however much was left unfinished", () => {
    const debts = new UnfinishedDebts(freeBytes);
    for (let count = 0; count < 100; count += 1) debts.charge("a", freeBytes, 0);
    const endMs = (unfinishedBytesOwedMax / unfinishedBytesPerSecondMax) * 1_000;
    assert.equal(debts.owes("a", endMs - 1), true);
    assert.equal(debts.owes("a", endMs + 1), false);
    assert.equal(
      debts.charge("a", unfinishedBytesPerSecondMax, endMs + 1),
      true,
      "the free message comes back as slowly",
    );
  });

  it("charges no address of a proven connection, while it is open and for an hour", () => {
    const debts = new UnfinishedDebts(freeBytes);
    for (let count = 0; count < 2; count += 1) debts.charge("a", freeBytes, 0);
    debts.noteProven("a", 0);
    assert.equal(debts.owes("a", 0), false, "proof ends a debt");
    debts.charge("a", 2 * freeBytes, 2 * provenAddressMs);
    assert.equal(debts.owes("a", 2 * provenAddressMs), false);
    debts.noteGone("a", 2 * provenAddressMs);
    debts.charge("a", 2 * freeBytes, 3 * provenAddressMs - 1);
    assert.equal(debts.owes("a", 3 * provenAddressMs - 1), false);
    debts.charge("a", 2 * freeBytes, 3 * provenAddressMs);
    assert.equal(debts.owes("a", 3 * provenAddressMs), true);
  });

  it("remembers a bounded number of addresses, with debts apart from proven ones", () => {
    const debts = new UnfinishedDebts(freeBytes);
    debts.noteProven("minion", 0);
    for (let number = 0; number <= owingAddressesMax; number += 1) debts.charge(`a${number}`, 2 * freeBytes, 0);
    assert.deepEqual([debts.owes("a0", 0), debts.owes("a1", 0)], [false, true]);
    debts.charge("minion", 2 * freeBytes, 0);
    assert.equal(debts.owes("minion", 0), false);
    for (let number = 0; number < provenAddressesMax; number += 1) debts.noteProven(`b${number}`, 0);
    debts.charge("minion", 2 * freeBytes, 0);
    assert.equal(debts.owes("minion", 0), true);
  });
});
