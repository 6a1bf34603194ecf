import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  guessersMax,
  guessesOfAddressMax,
  guessesOfPairMax,
  guessesOfUserMax,
  knownLoginMs,
} from "../../../src/limits.ts";
import { GuessBounds } from "../../../src/master/operators/guess-bounds.ts";

const ann = { login: "file\0ann", address: "192.0.2.1" };

describe("bounds of wrong logins", () => {
  it("bind one user at one address, and let one more be checked each interval", () => {
    const bounds = new GuessBounds();
    for (let guess = 0; guess < guessesOfPairMax.atFirst; guess += 1) {
      assert.equal(bounds.exceeded(ann, 0), undefined);
      bounds.noteWrong(ann, 0);
    }
    assert.equal(bounds.exceeded(ann, 0), "guessesOfPairMax");
    assert.equal(bounds.exceeded({ ...ann, login: "file\0bob" }, 0), undefined);
    assert.equal(bounds.exceeded({ ...ann, address: "192.0.2.2" }, 0), undefined);
    const laterMs = guessesOfPairMax.eachMs;
    assert.equal(bounds.exceeded(ann, laterMs - 1), "guessesOfPairMax");
    assert.equal(bounds.exceeded(ann, laterMs), undefined);
    bounds.noteWrong(ann, laterMs);
    assert.equal(bounds.exceeded(ann, laterMs), "guessesOfPairMax");
  });

  it("bind one user at all addresses, except where it logged in lately", () => {
    const bounds = new GuessBounds();
    bounds.noteRight(ann, 0);
    for (let guess = 0; guess < guessesOfUserMax.atFirst; guess += 1)
      bounds.noteWrong({ ...ann, address: `198.51.100.${guess}` }, 0);
    assert.equal(bounds.exceeded({ ...ann, address: "203.0.113.1" }, 0), "guessesOfUserMax");
    assert.equal(bounds.exceeded({ login: "file\0bob", address: "203.0.113.1" }, 0), undefined);
    assert.equal(bounds.exceeded(ann, 0), undefined);
    for (let guess = 0; guess < guessesOfPairMax.atFirst; guess += 1) bounds.noteWrong(ann, 0);
    assert.equal(bounds.exceeded(ann, 0), "guessesOfPairMax", "its own wrong logins count there, too");
  });

  it("bind one address for all names, except names that logged in there lately", () => {
    const bounds = new GuessBounds();
    bounds.noteRight(ann, 0);
    const fill = (nowMs: number) => {
      for (let guess = 0; guess < guessesOfAddressMax.atFirst; guess += 1)
        bounds.noteWrong({ ...ann, login: `file\0guess${guess}` }, nowMs);
    };
    fill(0);
    assert.equal(bounds.exceeded({ ...ann, login: "file\0bob" }, 0), "guessesOfAddressMax");
    assert.equal(bounds.exceeded(ann, 0), undefined);
    fill(knownLoginMs);
    assert.equal(bounds.exceeded(ann, knownLoginMs), "guessesOfAddressMax", "that was too long ago");
  });

  it("remember the newest guessersMax", () => {
    const bounds = new GuessBounds();
    const bob = { login: "file\0bob", address: "192.0.2.9" };
    for (const guesser of [ann, bob])
      for (let guess = 0; guess < guessesOfPairMax.atFirst; guess += 1) bounds.noteWrong(guesser, 0);
    for (let index = 0; index < guessersMax - 1; index += 1)
      bounds.noteWrong({ login: `${index}`, address: `${index}` }, 0);
    assert.deepEqual([bounds.exceeded(ann, 0), bounds.exceeded(bob, 0)], [undefined, "guessesOfPairMax"]);
  });
});
