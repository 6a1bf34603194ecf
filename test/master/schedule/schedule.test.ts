import assert from "node:assert/strict";
import { afterEach, describe, it, mock } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Logger } from "pino";
import type { ConfigMap } from "../../../src/config/yaml/values.ts";
import { MasterSchedule } from "../../../src/master/schedule/schedule.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";

type Logged = { readonly level: string; readonly fields: Readonly<Record<string, unknown>>; readonly text: string };

/** A schedule whose calls a test ends, on a clock that it sets. */
class Bed {
  readonly calls: { readonly load: unknown; readonly end: (success: boolean) => void }[] = [];
  readonly logged: Logged[] = [];
  readonly schedule: MasterSchedule;

  constructor(schedule: ConfigMap) {
    const log = (level: string) => (fields: object, text: string) =>
      void this.logged.push({ level, fields: fields as Logged["fields"], text });
    const logger = { error: log("error"), info: log("info"), warn: log("warn") };
    const run = (kind: string, load: Uint8Array) => {
      assert.equal(kind, "runner");
      return new Promise<Uint8Array>((resolve) => {
        const end = (success: boolean) => resolve(Buffer.from(encode({ data: { success } }, "raw")));
        this.calls.push({ load: decode(load), end });
      });
    };
    this.schedule = new MasterSchedule(
      { config: { schedule }, logger: logger as unknown as Logger, uptimeMs: Date.now },
      { run },
    );
  }

  faults(): readonly string[] {
    return this.logged.filter(({ level }) => level === "error").map(({ text }) => text);
  }
}

async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    mock.timers.tick(1_000);
    await turn();
  }
}

describe("the master's schedule", () => {
  const beds: Bed[] = [];
  const begin = (schedule: ConfigMap): Bed => {
    mock.timers.enable({ apis: ["setTimeout", "Date"], now: Date.UTC(2026, 10, 26, 12) });
    const bed = new Bed(schedule);
    beds.push(bed);
    return bed;
  };
  afterEach(() => {
    for (const bed of beds.splice(0)) bed.schedule.close();
    mock.timers.reset();
  });

  it("runs a runner function with its arguments, each time it is due", async () => {
    const bed = begin({ tidy: { function: "cache.clear", seconds: 10, args: ["*"], kwargs: { bank: "x" } } });
    await pass(9);
    assert.equal(bed.calls.length, 0);
    await pass(3);
    assert.equal(bed.calls.length, 1);
    const { load, end } = bed.calls[0] ?? assert.fail();
    const kwarg = new Map<string, unknown>([
      ["arg", ["*"]],
      ["kwarg", new Map([["bank", "x"]])],
    ]);
    const expected = { cmd: "runner", fun: "cache.clear", kwarg, sync: true };
    assert.deepEqual(Object.fromEntries(load as Map<string, unknown>), expected);
    end(true);
    await pass(10);
    assert.equal(bed.calls.length, 2);
    assert.deepEqual(bed.schedule.counters, { run: 2, failed: 0, skipped: 0 });
  });

  it("does not run a job that still runs, unless maxrunning allows it", async () => {
    const bed = begin({
      one: { function: "test.sleep", seconds: 2 },
      more: { function: "test.arg", seconds: 2, maxrunning: 2 },
    });
    await pass(9);
    const names = bed.calls.map(({ load }) => (load as Map<string, unknown>).get("fun"));
    assert.deepEqual(names.toSorted(), ["test.arg", "test.arg", "test.sleep"]);
    assert.ok(bed.schedule.counters.skipped >= 3);
  });

  it("runs at the start what run_on_start says, and nothing that is disabled or only a trial", async () => {
    const bed = begin({
      first: { function: "test.first", hours: 1, run_on_start: true },
      off: { function: "test.off", seconds: 1, enabled: false },
      dry: { function: "test.dry", seconds: 1, dry_run: true },
    });
    await pass(5);
    assert.deepEqual(
      bed.calls.map(({ load }) => (load as Map<string, unknown>).get("fun")),
      ["test.first"],
    );
  });

  it("runs nothing while it is disabled as a whole", async () => {
    const bed = begin({ enabled: false, job: { function: "test.x", seconds: 1, run_on_start: true } });
    await pass(5);
    assert.equal(bed.calls.length, 0);
  });

  it("tells what failed, what cannot be read, and which options have no effect", async () => {
    const bed = begin({
      bad: "text",
      cron: { function: "test.x", cron: "nonsense" },
      failing: { function: "no.such", seconds: 1, returner: "mysql", maxrunning: 1 },
    });
    await pass(2);
    bed.calls[0]?.end(false);
    await pass(1);
    assert.deepEqual(bed.faults().toSorted(), [
      "Invalid cron string. Ignoring job cron.",
      "a scheduled job failed",
      "a scheduled job must be a map, and is left out",
    ]);
    assert.deepEqual(bed.logged.find(({ level }) => level === "warn")?.fields.options, ["returner"]);
    assert.equal(bed.schedule.counters.failed, 1);
  });
});
