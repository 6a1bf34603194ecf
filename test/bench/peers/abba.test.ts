import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { takeTurns, turnOrder } from "../../../bench/peers/abba.ts";
import { noProgress } from "../../../bench/scenarios/scenario.ts";

describe("turnOrder", () => {
  it("goes A B, B A, so that each is as often early as late", () => {
    assert.deepEqual(turnOrder(2, 4).flat(), [0, 1, 1, 0, 0, 1, 1, 0]);
    assert.deepEqual(turnOrder(3, 2), [
      [0, 1, 2],
      [2, 1, 0],
    ]);
  });
});

describe("takeTurns", () => {
  it("lets one side work at a time, in that order, and keeps each side's turns by round", async () => {
    const log: string[] = [];
    const side = (name: string) => ({
      name,
      turn: async () => {
        log.push(`${name} begins`);
        await new Promise(setImmediate);
        log.push(`${name} ends`);
        return { cpuMs: log.length, operations: 1 };
      },
    });
    const turns = await takeTurns([side("a"), side("b")], 2, {
      progress: noProgress,
      signal: new AbortController().signal,
    });
    assert.deepEqual(
      log.filter((_, index) => index % 2 === 0),
      ["a begins", "b begins", "b begins", "a begins"],
    );
    assert.deepEqual(
      log.filter((_, index) => index % 2 === 1),
      ["a ends", "b ends", "b ends", "a ends"],
    );
    assert.deepEqual(
      turns.get("a")?.map(({ cpuMs }) => cpuMs),
      [2, 8],
    );
    assert.deepEqual(
      turns.get("b")?.map(({ cpuMs }) => cpuMs),
      [4, 6],
    );
  });

  /** Two masters with three rounds; the signal comes in the turn with this number. */
  const takenUntil = (last: number) => {
    const stop = new AbortController();
    let taken = 0;
    const turn = async () => {
      taken += 1;
      if (taken === last) stop.abort();
      return { cpuMs: taken, operations: 1 };
    };
    const sides = [
      { name: "a", turn },
      { name: "b", turn },
    ];
    return takeTurns(sides, 3, { progress: noProgress, signal: stop.signal });
  };

  it("stops between turns when it is told to", async () => {
    await assert.rejects(takenUntil(1), { name: "AbortError" });
  });

  it("keeps the rounds that were whole by then", async () => {
    const turns = await takenUntil(3);
    assert.deepEqual(
      [...turns].map(([name, all]) => [name, all.map(({ cpuMs }) => cpuMs)]),
      [
        ["a", [1]],
        ["b", [2]],
      ],
    );
  });
});
