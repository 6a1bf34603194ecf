/** Honest large requests on new connections beside forged ones: which are refused, and how long the others wait. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clearFrameBytesMax, largeForgedBytesOwedMax, largeForgedBytesPerSecondMax } from "../../../src/limits.ts";
import { AddressRanks } from "../../../src/master/admission/address-ranks.ts";
import { RequestQueue, type Waiting } from "../../../src/master/admission/request-queue.ts";

type Request = Waiting & { readonly isForged: boolean };

const mebibyte = 1024 * 1024;
/** The defaults of `batch_max_frames`, `batch_max_bytes` and `queue_max_bytes`. */
const options = { framesMax: 1_024, bytesMax: mebibyte, queueBytesMax: 64 * mebibyte };
const honestBytes = 200 * 1024;
const honestAddress = "192.0.2.1";
const honestPeriodMs = 500;
const durationMs = 60_000;
const honestCount = durationMs / honestPeriodMs;
const smallestLargeBytes = clearFrameBytesMax + 1;
const stepMs = 10;
/** A worker's time for a large request. */
const workedMsPerMebibyte = 2.5;

type Flood = {
  readonly bytesPerSecond: number;
  readonly from: (count: number) => string;
  readonly bytes?: number;
  readonly minions?: ReadonlySet<string>;
};
type Outcome = { served: number; refused: number; waitedMsMax: number; forgedServed: number };

/** Honest requests of 200 KiB for a minute from one address, beside a flood of forged ones. */
function floodBesideHonest({ bytesPerSecond, from, bytes = mebibyte, minions = new Set() }: Flood): Outcome {
  const ranks = new AddressRanks({ isProxy: () => false, hasProven: (address) => minions.has(address) });
  const queue = new RequestQueue<Request>(options, ranks);
  const outcome = { served: 0, refused: 0, waitedMsMax: 0, forgedServed: 0 };
  let owedBytes = 0;
  let floodCount = 0;
  let workerFreeMs = 0;
  let underWay: readonly Request[] = [];
  const offer = (byteLength: number, address: string, isForged: boolean, nowMs: number) => {
    const item: Request = {
      bytes: { byteLength },
      standing: "large",
      queuedMs: nowMs,
      connection: { address },
      isForged,
    };
    for (const out of queue.offer(item, nowMs)) if (!out.isForged) outcome.refused += 1;
  };
  for (let nowMs = 0; nowMs < durationMs + honestPeriodMs; nowMs += stepMs) {
    if (nowMs < durationMs) {
      owedBytes += (bytesPerSecond * stepMs) / 1_000;
      for (; owedBytes >= bytes; owedBytes -= bytes, floodCount += 1) offer(bytes, from(floodCount), true, nowMs);
      if (nowMs % honestPeriodMs === honestPeriodMs / 2) offer(honestBytes, honestAddress, false, nowMs);
    }
    while (workerFreeMs <= nowMs) {
      for (const item of underWay) queue.settle(item, item.isForged, nowMs);
      underWay = queue.take(nowMs);
      if (underWay.length === 0) break;
      for (const item of underWay) {
        workerFreeMs = Math.max(workerFreeMs, nowMs) + (item.bytes.byteLength / mebibyte) * workedMsPerMebibyte;
        if (item.isForged) outcome.forgedServed += 1;
        else outcome.served += 1;
        if (!item.isForged) outcome.waitedMsMax = Math.max(outcome.waitedMsMax, nowMs - item.queuedMs);
      }
    }
  }
  return outcome;
}

const other = () => "192.0.2.2";
const same = () => honestAddress;
const many = (count: number) => `10.${(count >> 16) & 255}.${(count >> 8) & 255}.${count & 255}`;

describe("RequestQueue under forged large requests", () => {
  for (const rate of [1.5, 3.3, 64])
    it(`serves every honest large request beside ${rate} MiB/s of forged ones from another address`, () => {
      for (const bytes of [mebibyte, smallestLargeBytes]) {
        const { served, refused, waitedMsMax } = floodBesideHonest({
          bytesPerSecond: rate * mebibyte,
          from: other,
          bytes,
        });
        assert.deepEqual({ served, refused }, { served: honestCount, refused: 0 });
        assert.ok(waitedMsMax <= 50, `${waitedMsMax} ms`);
      }
    });

  it("serves every one beside forged ones from its own address while the worker has time for all of them", () => {
    for (const rate of [3.3, 15]) {
      const { served, refused } = floodBesideHonest({ bytesPerSecond: rate * mebibyte, from: same });
      assert.deepEqual({ served, refused }, { served: honestCount, refused: 0 }, `${rate} MiB/s`);
    }
  });

  it("refuses most beside more from its own address: a bound of the mechanism, docs/security.md", () => {
    const { served, refused } = floodBesideHonest({ bytesPerSecond: 24 * mebibyte, from: same });
    assert.equal(served + refused, honestCount);
    assert.ok(refused > honestCount / 2, `${refused} refused`);
  });

  it("serves every one of a minion's address beside forged ones that each come from a new address", () => {
    const minions = new Set([honestAddress]);
    const { served, refused, waitedMsMax } = floodBesideHonest({
      bytesPerSecond: 32 * mebibyte,
      from: many,
      bytes: smallestLargeBytes,
      minions,
    });
    assert.deepEqual({ served, refused }, { served: honestCount, refused: 0 });
    assert.ok(waitedMsMax <= 50, `${waitedMsMax} ms`);
  });

  it("examines no more forged bytes than each rank's budget", () => {
    const seconds = durationMs / 1_000;
    for (const from of [other, many]) {
      const { forgedServed } = floodBesideHonest({ bytesPerSecond: 64 * mebibyte, from });
      const budget = seconds * largeForgedBytesPerSecondMax + largeForgedBytesOwedMax;
      assert.ok(forgedServed * mebibyte <= 2 * budget, `${forgedServed} MiB in ${seconds} s`);
      assert.ok(forgedServed * mebibyte >= budget / 2, "the test reaches the budget");
    }
  });
});
