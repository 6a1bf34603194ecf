/** A generator that limited its own run reports it with the reason. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { besideOthers, judgeGenerator, SelfCheck } from "../../bench/load/self-check.ts";

const calm = { cpuMs: 100, cpuShare: 0.3, loopDelayP99Ms: 2 };

describe("judgeGenerator", () => {
  it("lets a calm run count", () => {
    const { isVoid, voidReasons } = judgeGenerator({ reports: [calm], loop: "open", sent: 1_000, late: 10 });
    assert.deepEqual({ isVoid, voidReasons }, { isVoid: false, voidReasons: [] });
  });

  it("voids one whose busiest process had no core left", () => {
    const judged = judgeGenerator({ reports: [calm, { ...calm, cpuShare: 0.95 }], loop: "closed", sent: 1, late: 0 });
    assert.equal(judged.isVoid, true);
    assert.equal(judged.cpuShare, 0.95);
    assert.match(judged.voidReasons[0] ?? "", /95 % of a core/);
  });

  it("voids an open loop that was late, in its sends or its turns", () => {
    const late = judgeGenerator({ reports: [calm], loop: "open", sent: 1_000, late: 11 });
    assert.match(late.voidReasons.join(), /11 of 1000 operations were sent late/);
    const slow = judgeGenerator({ reports: [{ ...calm, loopDelayP99Ms: 60 }], loop: "open", sent: 1_000, late: 0 });
    assert.match(slow.voidReasons.join(), /60\.0 ms late at p99/);
  });

  it("allows a closed loop, which measures no latency under a plan, more delay", () => {
    const report = { ...calm, loopDelayP99Ms: 60 };
    assert.equal(judgeGenerator({ reports: [report], loop: "closed", sent: 1, late: 0 }).isVoid, false);
  });
});

describe("besideOthers", () => {
  const open = { loop: "open", sent: 1_000, late: 500 } as const;

  it("blames other programs for a late generator only if they took the machine", () => {
    const late = judgeGenerator({ reports: [calm], ...open });
    const beside = besideOthers(late, 0.43);
    assert.deepEqual([beside.isVoid, beside.voidCause, beside.otherShare], [true, "machine", 0.43]);
    assert.match(beside.voidReasons.join("; "), /^other programs took 43 % of the machine's CPU time; 500 of 1000/);
    assert.equal(besideOthers(late, 0.05).voidCause, "generator");
    assert.deepEqual(besideOthers(late, 0.05).voidReasons, late.voidReasons);
  });

  it("blames a generator that used its core up, whatever else ran", () => {
    const busy = judgeGenerator({ reports: [{ ...calm, cpuShare: 0.97 }], ...open });
    assert.equal(besideOthers(busy, 0.43).voidCause, "generator");
  });

  it("voids no run that the generator kept up with", () => {
    const kept = judgeGenerator({ reports: [calm], loop: "open", sent: 1_000, late: 0 });
    assert.deepEqual(besideOthers(kept, 0.43), { ...kept, otherShare: 0.43 });
  });
});

describe("SelfCheck", () => {
  it("sees a turn of the loop that took long, and the CPU that it used", async () => {
    const beganMs = performance.now();
    const check = new SelfCheck();
    check.start();
    // The monitor's timer has to run before its delay can be measured.
    await new Promise((resolve) => setTimeout(resolve, 20));
    // By its own CPU time: other programs may take most of a turn's.
    const before = process.cpuUsage();
    for (let usedMs = 0; usedMs < 100; ) {
      const { user, system } = process.cpuUsage(before);
      usedMs = (user + system) / 1_000;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { cpuMs, cpuShare, loopDelayP99Ms } = check.stop();
    const wholeMs = performance.now() - beganMs;
    assert.ok(loopDelayP99Ms > 80, `delay ${loopDelayP99Ms} ms`);
    assert.ok(cpuMs >= 100 && cpuShare >= cpuMs / wholeMs, `${cpuMs} ms, ${cpuShare} of ${wholeMs} ms`);
  });
});
