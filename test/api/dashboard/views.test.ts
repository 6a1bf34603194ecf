import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fleetRows, keyRows, termLines } from "../../../src/api/dashboard/views/fleet-view.ts";
import { instrumentsOf, type MetricRow } from "../../../src/api/dashboard/views/instruments-view.ts";
import { argumentsOf, batchActions, jobRows, shares, statusRows } from "../../../src/api/dashboard/views/job-view.ts";
import { addressOf, placeOf } from "../../../src/api/dashboard/views/place.ts";
import {
  bytes,
  duration,
  globFilter,
  longValue,
  msOfJid,
  msOfText,
  timeText,
} from "../../../src/api/dashboard/views/texts.ts";

const keys = { minions: ["b", "a", "c"], minions_pre: ["w"], minions_rejected: ["r"], minions_denied: ["d"] };

describe("addresses of pages", () => {
  it("are read as they are written", () => {
    const address = addressOf("fleet", "web 1/#?", { tgt: "G@os:Debian and *" });
    const { page, item, query } = placeOf(address);
    assert.deepEqual([page, item, query.get("tgt")], ["fleet", "web 1/#?", "G@os:Debian and *"]);
  });

  it("that are unknown or damaged are the fleet's", () => {
    for (const hash of ["", "#", "#/", "#/no-page/x", "#/%E0%A4%A"]) {
      assert.deepEqual([placeOf(hash).page, placeOf(hash).item], ["fleet", ""], hash);
    }
  });
});

describe("the fleet's view", () => {
  it("shows silent minions first, each group by id, and leaves out connected ids without an accepted key", () => {
    assert.deepEqual(
      fleetRows(keys, ["c", "a", "gone"]).map(({ id, isConnected }) => [id, isConnected]),
      [
        ["b", false],
        ["a", true],
        ["c", true],
      ],
    );
  });

  it("shows waiting keys first", () => {
    const rows = keyRows(keys).map(({ id, state }) => `${state} ${id}`);
    assert.deepEqual(rows, ["waiting w", "accepted a", "accepted b", "accepted c", "rejected r", "denied d"]);
  });

  it("explains each term of a target, with the reason of one that cannot be matched", () => {
    const none = { count: 0 };
    const first = { "web*": 1_200, db1: 0, "G@x": "Invalid target" };
    const explained = { target: "", matched: 0, connected: none, not_connected: none, terms: { count: 3, first } };
    assert.deepEqual(
      termLines(explained).map(({ text }) => text),
      ["matches 1,200", "matches no minion", "Invalid target"],
    );
    assert.deepEqual(termLines({ ...explained, terms: none }), []);
  });
});

describe("a job's view", () => {
  it("shows minions that need a look first", () => {
    const minions = { a: { State: "returned" }, b: { State: "running" }, c: { State: "lost", Reason: "gone" } };
    assert.deepEqual(
      statusRows({ Minions: minions }, "state").map(({ id }) => id),
      ["c", "b", "a"],
    );
    assert.deepEqual(shares({ Counts: { returned: 2, sent: 0, failed: 1 } }), [
      { state: "failed", count: 1 },
      { state: "returned", count: 2 },
    ]);
  });

  it("lists the newest job first", () => {
    const job = { Function: "f", Arguments: [], Target: "*", "Target-type": "glob", User: "u", StartTime: "" };
    assert.deepEqual(
      jobRows({ "20260101": job, "20260102": job }).map(({ jid }) => jid),
      ["20260102", "20260101"],
    );
  });

  it("of a batch can be controlled as long as it runs", () => {
    const of = (State: string) => batchActions({ State });
    assert.deepEqual(
      [of("pinging"), of("running"), of("paused"), of("finished")],
      [["abort"], ["pause", "abort"], ["resume", "abort"], []],
    );
  });

  it("takes one argument from each line", () => {
    assert.deepEqual(argumentsOf("uptime -p\n\n cwd=/srv\n"), ["uptime -p", " cwd=/srv"]);
  });
});

describe("texts", () => {
  it("are short and have their unit", () => {
    assert.deepEqual([0, 999, 1_500, 158e6].map(bytes), ["0 B", "999 B", "1.5 kB", "158 MB"]);
    assert.deepEqual([null, 0, 0.05, 0.00012, 2, Number.POSITIVE_INFINITY].map(duration), [
      "none",
      "0 s",
      "50 ms",
      "120 µs",
      "2 s",
      "long",
    ]);
    assert.deepEqual([longValue("a\nb"), longValue({ a: 1 })], ["a\nb", '{\n  "a": 1\n}']);
  });

  it("of times are in UTC, whatever form the time has", () => {
    assert.equal(timeText(msOfJid("20261124154024625113")), "2026-11-24 15:40:24");
    const stamps = ["2026-11-24T15:40:24.625113", "2026, Nov 24 15:40:24.625113"];
    for (const stamp of stamps) assert.equal(timeText(msOfText(stamp), "exact"), "15:40:24.625", stamp);
    assert.equal(timeText(0, "clock"), "00:00:00");
    for (const ms of [msOfJid("req"), msOfJid("20269999999999000000"), msOfText(undefined), msOfText("soon")])
      assert.equal(timeText(ms), "");
  });

  it("are found by a part or a glob, whatever signs they hold", () => {
    assert.ok(globFilter("ob/1")("salt/job/1"));
    assert.ok(globFilter(" salt/*/ret/* ")("salt/job/1/ret/a"));
    assert.ok(!globFilter("salt/*")("x/salt/1"));
    assert.ok(globFilter("a.b?")("a.b1") && !globFilter("a.b?")("axb1"));
    assert.ok(globFilter("")("anything"));
  });
});

describe("the instruments", () => {
  const worker = { worker: "0" };
  const row = (name: string, labels: MetricRow[1], value: MetricRow[2]): MetricRow => [name, labels, value];
  const bucket = (le: string, count: number) =>
    row("saltworks_queue_wait_seconds_bucket", { queue: "requests", le }, count);
  const reading = (returns: number, slow: number, atMs: number) => ({
    atMs,
    rows: [
      row("saltworks_returns_total", { ...worker, outcome: "stored" }, returns),
      row("saltworks_worker_stale", worker, 0),
      bucket("0.1", returns),
      bucket("+Inf", returns + slow),
      row("saltworks_limit_max", { limit: "full" }, 10),
      row("saltworks_limit_used", { limit: "full" }, 5),
      row("saltworks_limit_max", { limit: "unlimited" }, "+Inf"),
      row("saltworks_limit_used", { limit: "unlimited" }, 5),
    ],
  });

  it("are the change between two readings", () => {
    const figures = instrumentsOf(reading(100, 0, 1_000), reading(300, 0, 3_000));
    assert.equal(figures.returnsPerSecond, 100);
    assert.equal(figures.waitP99, 0.1);
    assert.deepEqual(figures.limits, [{ limit: "full", share: 0.5, hits: 0 }]);
    assert.equal(figures.workers[0]?.returnsPerSecond, 100);
  });

  it("show a wait above the last bucket, and none without a request", () => {
    assert.equal(instrumentsOf(reading(0, 0, 0), reading(100, 50, 1_000)).waitP99, Number.POSITIVE_INFINITY);
    assert.equal(instrumentsOf(reading(5, 0, 0), reading(5, 0, 1_000)).waitP99, null);
  });

  it("count from zero after a restart", () => {
    assert.equal(instrumentsOf(reading(1_000, 0, 0), reading(40, 0, 2_000)).returnsPerSecond, 20);
  });
});
