import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDateText } from "../../src/python/dateutil.ts";
import { formatDate, parseByFormat, standardFormat } from "../../src/python/strftime.ts";
import { type Decision, ScheduledJob, type Surrounding } from "../../src/schedule/job.ts";
import { drawSplay } from "../../src/schedule/timing.ts";
import type { Value, ValueMap } from "../../src/wire/values.ts";

/** Local time, on Sunday the 22nd of November 2026 unless a day is given. */
function at(clock: string, day = "2026-11-22"): number {
  return parseByFormat(`${day}T${clock}`, standardFormat) ?? Number.NaN;
}

function specOf(given: unknown): Value {
  if (Array.isArray(given)) return given.map(specOf);
  if (typeof given !== "object" || given === null) return given as Value;
  return new Map(Object.entries(given).map(([name, value]) => [name, specOf(value)]));
}

/** A job from the time when the scheduler first checks it, over several checks. */
class Bench {
  readonly job: ScheduledJob;
  readonly common: ValueMap;
  random = 0;
  whens: ValueMap[] = [];

  constructor(spec: object, metMs: number, common: object = {}) {
    this.common = specOf(common) as ValueMap;
    this.job = new ScheduledJob(
      "job",
      specOf({ function: "test.ping", ...spec }) as ValueMap,
      this.#around(metMs).clock,
    );
    this.job.plan(this.#around(metMs));
  }

  #around(nowMs: number): Surrounding {
    return { clock: { nowMs, loopMs: 1_000, whens: this.whens }, common: this.common, random: () => this.random };
  }

  look(nowMs: number): Decision {
    return this.job.look(this.#around(nowMs));
  }

  /** `run`, `wait`, or the reason why not. */
  says(nowMs: number): string {
    const decision = this.look(nowMs);
    return decision.kind === "skip" ? decision.reason : decision.kind === "faulty" ? decision.fault : decision.kind;
  }

  /** The due time that operators see. */
  get next(): string | undefined {
    return this.job.fireMs === undefined ? undefined : formatDate(this.job.fireMs, standardFormat);
  }

  wakes(nowMs: number): string | undefined {
    const wakeMs = this.job.wakeMs(this.#around(nowMs));
    return wakeMs === undefined ? undefined : formatDate(wakeMs, standardFormat);
  }
}

describe("a scheduled job", () => {
  it("runs at its interval, counted from its first look and then from its last run", () => {
    const bench = new Bench({ minutes: 1, seconds: "30" }, at("06:00:00"));
    assert.equal(bench.next, "2026-11-22T06:01:30");
    assert.equal(bench.says(at("06:01:29")), "wait");
    assert.equal(bench.says(at("06:01:32")), "run");
    assert.equal(bench.says(at("06:01:32")), "wait");
    assert.equal(bench.next, "2026-11-22T06:03:02");
  });

  it("catches up once after a sleep with an interval or a cron line, but not with an appointed moment", () => {
    const morning = at("06:00:00");
    for (const [spec, next] of [
      [{ hours: 1 }, "2026-11-23T10:20:00"],
      [{ cron: "0 7 * * *" }, "2026-11-24T07:00:00"],
    ] as const) {
      const bench = new Bench(spec, morning);
      assert.equal(bench.says(at("09:20:00", "2026-11-23")), "run");
      assert.equal(bench.next, next);
    }
    const once = new Bench({ once: "2026-11-22T07:00:00" }, morning);
    assert.equal(once.says(at("09:20:00")), "wait");
    assert.equal(once.next, undefined);
    const when = new Bench({ when: "7am" }, morning);
    assert.equal(when.says(at("09:20:00")), "wait");
    assert.equal(when.wakes(at("09:20:00")), "2026-11-23T00:00:00");
    assert.equal(when.says(at("00:00:00", "2026-11-23")), "wait");
    assert.equal(when.next, "2026-11-23T07:00:00");
  });

  it("keeps its interval when the clock is set, forward or back", () => {
    for (const [date, hours] of [
      ["2026-11-21", -24],
      ["2026-11-23", 24],
    ] as const) {
      const bench = new Bench({ minutes: 10 }, at("06:00:00"));
      assert.equal(bench.says(at("06:10:00")), "run");
      bench.job.noteClockSet(hours * 3_600_000, at("06:15:00", date));
      assert.equal(bench.says(at("06:15:00", date)), "wait");
      assert.equal(bench.next, `${date}T06:20:00`);
      assert.equal(bench.says(at("06:20:00", date)), "run");
    }
  });

  it("follows a clock that is set back by a day at once, and repeats nothing when it is set back by an hour", () => {
    for (const spec of [{ cron: "0 7 * * *" }, { when: "7:00" }]) {
      const corrected = new Bench(spec, at("06:00:00"));
      assert.equal(corrected.says(at("07:00:00")), "run");
      corrected.job.noteClockSet(-3_600_000, at("06:05:00"));
      for (const time of ["06:05:00", "07:00:00"]) assert.equal(corrected.says(at(time)), "wait");
      assert.equal(corrected.says(at("00:00:00", "2026-11-23")), "wait");
      assert.equal(corrected.next, "2026-11-23T07:00:00");
      const ahead = new Bench(spec, at("06:00:00"));
      assert.equal(ahead.says(at("07:00:00")), "run");
      ahead.job.noteClockSet(-86_400_000, at("07:05:00", "2026-11-21"));
      assert.equal(ahead.says(at("07:05:00", "2026-11-21")), "wait");
      assert.equal(ahead.says(at("00:00:00")), "wait");
      assert.equal(ahead.next, "2026-11-22T07:00:00");
    }
    const once = new Bench({ once: "2026-11-22T07:00:00" }, at("06:00:00"));
    assert.equal(once.says(at("07:00:00")), "run");
    once.job.noteClockSet(-86_400_000, at("07:05:00", "2026-11-21"));
    assert.equal(once.says(at("07:00:00")), "wait");
  });

  it("runs once at each appointed time, even if a little late", () => {
    const bench = new Bench(
      { when: ["7:00", "noon", "Monday 5:00am"].filter((text) => text !== "noon") },
      at("06:00:00"),
    );
    assert.equal(bench.next, "2026-11-22T07:00:00");
    assert.equal(bench.says(at("07:00:04")), "run");
    assert.equal(bench.says(at("07:00:05")), "wait");
    assert.equal(bench.next, "2026-11-23T05:00:00");
    const once = new Bench({ once: "22.11.26 07h00", once_fmt: "%d.%m.%y %Hh%M" }, at("06:00:00"));
    assert.equal(once.says(at("07:00:00")), "run");
    assert.equal(once.says(at("07:00:01")), "wait");
    assert.equal(once.next, undefined);
    assert.equal(new Bench({ once: "2026-11-22T05:59:50" }, at("06:00:00")).says(at("06:00:00")), "wait");
  });

  it("finds times under their names in pillar and grains", () => {
    const bench = new Bench({ when: "tea time" }, at("06:00:00"));
    assert.equal(bench.says(at("06:00:00")), "Invalid date string tea time. Ignoring job job.");
    bench.whens = [new Map([["tea time", "17:00"]])];
    assert.equal(bench.says(at("06:00:01")), "wait");
    assert.equal(bench.next, "2026-11-22T17:00:00");
  });

  it("reads cron's lines as Salt does: seconds last, ranges across the end, day of month or of week", () => {
    const nextOf = (cron: string) => new Bench({ cron }, at("06:00:00")).next;
    assert.equal(nextOf("*/10 * * * * 30"), "2026-11-22T06:00:30");
    assert.equal(nextOf("0 22-2 * * *"), "2026-11-22T22:00:00");
    assert.equal(nextOf("30 6 * * sat-mon"), "2026-11-22T06:30:00");
    assert.equal(nextOf("0 0 1,15 * 3"), "2026-11-25T00:00:00");
    assert.equal(nextOf("@daily"), "2026-11-23T00:00:00");
    assert.equal(new Bench({ cron: "every day" }, 0).says(0), "Invalid cron string. Ignoring job job.");
  });

  it("runs at start if told to, whatever its timer, and then by its timer", () => {
    const bench = new Bench({ hours: 1, run_on_start: true, range: { start: "8:00", end: "9:00" } }, at("06:00:00"));
    assert.equal(bench.says(at("06:00:01")), "run");
    assert.equal(bench.says(at("06:00:02")), "wait");
    assert.equal(bench.next, "2026-11-22T07:00:01");
    const cron = new Bench({ cron: "0 7 * * *", run_on_start: true }, at("06:00:00"));
    assert.equal(cron.says(at("06:00:01")), "run");
    assert.equal(cron.next, "2026-11-22T07:00:00");
  });

  it("is delayed by a splay, its own or the schedule's, drawn for each run", () => {
    const bench = new Bench({ hours: 1, splay: { start: 10, end: 20 } }, at("06:00:00"));
    assert.equal(bench.next, "2026-11-22T07:00:10");
    bench.random = 0.99;
    assert.equal(bench.says(at("07:00:09")), "wait");
    assert.equal(bench.says(at("07:00:10")), "run");
    assert.equal(bench.next, "2026-11-22T08:00:30");
    assert.equal(new Bench({ hours: 1 }, at("06:00:00"), { splay: 5 }).next, "2026-11-22T07:00:01");
    assert.equal(
      drawSplay(15, () => 0.999),
      15,
    );
    assert.equal(
      drawSplay(new Map([["start", 5]]), () => 0),
      "Invalid Splay, end must be larger than start. Ignoring splay.",
    );
  });

  it("runs only in its range, from its beginning on", () => {
    const bench = new Bench({ seconds: 60, range: { start: "8:00", end: "17:00" } }, at("06:00:00"));
    assert.equal(bench.says(at("06:01:00")), "not_in_range");
    assert.equal(bench.next, "2026-11-22T08:00:00");
    assert.equal(bench.says(at("08:00:00")), "run");
    assert.equal(bench.says(at("18:00:00")), "not_in_range");
    assert.equal(bench.next, "2026-11-23T08:00:00");
    const inverted = new Bench({ seconds: 60, range: { invert: true, start: "8:00", end: "17:00" } }, at("07:00:00"));
    assert.equal(inverted.says(at("07:01:00")), "run");
    assert.equal(inverted.says(at("08:02:00")), "in_skip_range");
    assert.equal(inverted.next, "2026-11-22T17:00:00");
    const wrong = new Bench({ seconds: 60, range: { start: "17:00", end: "8:00" } }, at("06:00:00"));
    assert.match(wrong.says(at("06:01:00")), /end must be larger than start/);
  });

  it("is skipped during a range, and runs after it with run_after_skip_range; a skip function takes its place", () => {
    const spec = { seconds: 60, skip_during_range: { start: "6:00", end: "7:00" } };
    const bench = new Bench({ ...spec, run_after_skip_range: true }, at("05:59:30"));
    assert.equal(bench.says(at("06:00:30")), "in_skip_range");
    assert.equal(bench.next, "2026-11-22T06:01:30");
    const after = new Bench(
      { hours: 20, skip_during_range: spec.skip_during_range, run_after_skip_range: true },
      at("06:30:00"),
    );
    assert.equal(after.wakes(at("06:30:00")), "2026-11-22T07:00:01");
    assert.equal(after.says(at("07:00:01")), "run");
    const replaced = new Bench(spec, at("05:59:30"), { skip_function: "event.send" });
    assert.deepEqual(replaced.look(at("06:00:30")), { kind: "run", fun: "event.send", missedMs: 0 });
  });

  it("skips the moments of skip_explicit, and runs at those of run_explicit", () => {
    const moment = (time: string) => ({ time: `2026-11-22T${time}`, time_fmt: standardFormat });
    const spec = { hours: 1, skip_explicit: [moment("07:00:00")], run_explicit: [moment("07:20:00")] };
    const bench = new Bench(spec, at("06:00:00"));
    assert.equal(bench.says(at("07:00:00")), "skip_explicit");
    assert.equal(bench.wakes(at("07:00:00")), "2026-11-22T07:20:00");
    assert.equal(bench.says(at("07:20:00")), "run");
    assert.equal(bench.next, "2026-11-22T08:20:00");
    assert.equal(bench.says(at("08:20:00")), "run");
  });

  it("runs only if all rules allow it: enabled, after, until, its range", () => {
    const saysAt = (spec: object, common: object = {}) =>
      new Bench({ seconds: 60, ...spec }, at("06:00:00"), common).says(at("06:01:00"));
    assert.equal(saysAt({ enabled: false }), "disabled");
    assert.equal(saysAt({}, { enabled: false }), "disabled");
    assert.equal(saysAt({ until: "2026-11-22T06:01:00" }), "until_passed");
    assert.equal(saysAt({ until: "2026-11-22T06:01:01", after: "2026-11-22 06:00" }), "run");
    assert.equal(saysAt({ after: "8:00" }), "after_not_passed");
    assert.equal(saysAt({ until: "2030-01-01", range: { start: "8:00", end: "9:00" } }), "not_in_range");
  });

  it("reports its fault once", () => {
    const bench = new Bench({ cron: "@daily", when: "5pm" }, at("06:00:00"));
    const decision = bench.look(at("06:00:00"));
    assert.deepEqual([decision.kind, decision.kind === "faulty" && decision.isNew], ["faulty", true]);
    const again = bench.look(at("06:00:01"));
    assert.equal(again.kind === "faulty" && again.isNew, false);
    assert.match(new Bench({ seconds: "many" }, 0).says(0), /^Invalid seconds many/);
    assert.match(new Bench({ once: "soon" }, 0).says(0), /^Date string could not be parsed: soon, %Y/);
    assert.equal(new Bench({}, 0).says(1_000_000), "wait");
  });
});

describe("parseDateText", () => {
  it("reads what python-dateutil reads", () => {
    const read = (text: string) => {
      const ms = parseDateText(text, at("06:00:00"));
      return ms === undefined ? undefined : formatDate(ms, standardFormat);
    };
    for (const [text, expected] of [
      ["5:00pm", "2026-11-22T17:00:00"],
      ["Tuesday 5:00pm", "2026-11-24T17:00:00"],
      ["Sunday", "2026-11-22T00:00:00"],
      ["11/23/2026 12am", "2026-11-23T00:00:00"],
      ["23/11/2026", "2026-11-23T00:00:00"],
      ["January 5, 2015 5:30pm", "2015-01-05T17:30:00"],
      ["Nov 23rd 2026 at 6:15pm", "2026-11-23T18:15:00"],
      ["20261123T101500", "2026-11-23T10:15:00"],
      ["20261123101500", "2026-11-23T10:15:00"],
      ["23 Nov 0099", "99-11-23T00:00:00"],
      ["27.11.2026 4:05", "2026-11-27T04:05:00"],
      ["99-01-02", "1999-01-02T00:00:00"],
      ["2027-03", "2027-03-22T00:00:00"],
      ["10", "2026-11-10T00:00:00"],
    ] as const) {
      assert.equal(read(text), expected, text);
    }
    for (const text of ["", "tomorrow", "25:00", "12:61", "Feb 30 2027", "13pm", "13/13/2026", "2/29/2027"]) {
      assert.equal(read(text), undefined, text);
    }
  });
});
