/** What every job cache must do, whatever it keeps its data in. A driver's test calls this with a way to open an empty one. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { JobQuery, TextPattern } from "../../src/store/jobs/facts.ts";
import type { JobCache, LoadRecord, PutOutcome, ReturnRecord } from "../../src/store/jobs/job-cache.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";

export type OpenedJobCache = {
  readonly cache: JobCache;
  /** The same data, opened anew. */
  readonly reopen: () => Promise<JobCache>;
  readonly remove: () => Promise<void>;
  /** Waits until what was put can be read, for drivers that resolve a put before that. */
  readonly settle?: () => Promise<void>;
  /** Makes a job look as if it had been stored at this time, for drivers that go by the clock. */
  readonly age?: (jid: string, storedMs: number) => void;
};
export type JobCacheTraits = {
  /** Bodies come back byte for byte. Otherwise only `return`, `retcode`, `success`, `out`, `jid` and `id` do. */
  readonly keepsWholeBody: boolean;
  /** Names that were asked for but are no minions. */
  readonly keepsMissing: boolean;
};

const jid = "20260102030405000001";

export function returnOf(jobId: string, minionId: string, value: unknown = true): ReturnRecord {
  const body = encode(
    { cmd: "_return", id: minionId, success: true, return: value as string, retcode: 0, jid: jobId, fun: "test.ping" },
    "bin",
  );
  return { jid: jobId, minionId, body };
}

export function loadOf(jobId: string, minions: string[] = ["a", "b"], more: Partial<LoadRecord> = {}): LoadRecord {
  return {
    jid: jobId,
    load: encode({ cmd: "publish", tgt: "*", fun: "test.ping", jid: jobId }, "bin"),
    minions,
    ...more,
  };
}

function returnedBy(body: Uint8Array | undefined): unknown {
  assert.ok(body !== undefined, "there must be a return");
  return (decode(body) as ValueMap).get("return");
}

const jidAtMinute = (minute: number) => `202601020304${String(minute).padStart(2, "0")}000000`;

export function jobCacheContract(name: string, open: () => Promise<OpenedJobCache>, traits: JobCacheTraits): void {
  describe(`job cache contract: ${name}`, () => {
    let opened: OpenedJobCache;
    let cache: JobCache;
    beforeEach(async () => {
      opened = await open();
      cache = opened.cache;
    });
    afterEach(() => opened.remove());
    const context: Context = { cache: () => cache, opened: () => opened, traits };
    returnsContract(context);
    loadsContract(context);
    listingContract(context);
    searchContract(context);
    trimmingContract(context);
  });
}

/** Puts returns and waits until they can be read. */
async function put({ cache, opened }: Context, records: readonly ReturnRecord[]): Promise<PutOutcome[]> {
  const outcomes = await cache().putReturns(records);
  await opened().settle?.();
  return outcomes;
}

type Context = {
  readonly cache: () => JobCache;
  readonly opened: () => OpenedJobCache;
  readonly traits: JobCacheTraits;
};

function returnsContract(context: Context): void {
  const { cache, opened, traits } = context;
  it("keeps the first return of a minion and calls a second one a duplicate", async () => {
    await cache().putLoad(loadOf(jid));
    assert.deepEqual(await put(context, [returnOf(jid, "a", "first")]), ["stored"]);
    assert.deepEqual(await put(context, [returnOf(jid, "b"), returnOf(jid, "a", "second")]), ["stored", "duplicate"]);
    assert.equal(returnedBy(cache().getReturn(jid, "a")), "first");
  });

  it("tells a duplicate within one batch", async () => {
    await cache().putLoad(loadOf(jid));
    assert.deepEqual(await put(context, [returnOf(jid, "a", 1), returnOf(jid, "a", 2)]), ["stored", "duplicate"]);
    assert.equal(returnedBy(cache().getReturn(jid, "a")), 1);
  });

  it("stores a return once however many put it at the same time", async () => {
    await cache().putLoad(loadOf(jid));
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => put(context, [returnOf(jid, "a", index)])),
    );
    assert.equal(outcomes.flat().filter((outcome) => outcome === "stored").length, 1);
  });

  it("lists a job's returns by minion id, and of no other job", async () => {
    const longer = `${jid}_77`;
    for (const job of [jid, longer]) await cache().putLoad(loadOf(job));
    await put(context, [
      returnOf(jid, "web2"),
      returnOf(jid, "web10"),
      returnOf(longer, "other"),
      returnOf(jid, "Ärger"),
    ]);
    assert.deepEqual(
      cache()
        .getReturns(jid)
        .map(({ minionId }) => minionId),
      ["web10", "web2", "Ärger"],
    );
    assert.deepEqual(
      cache()
        .getReturns(longer)
        .map(({ minionId }) => minionId),
      ["other"],
    );
    assert.deepEqual(cache().getReturns("20990101000000000000"), []);
    assert.equal(cache().getReturn(jid, "nobody"), undefined);
  });

  it("gives bytes back as they were, unicode, binary and five megabytes alike", async () => {
    await cache().putLoad(loadOf(jid));
    const values = ["snow ☃ 𝄞", Buffer.from([0, 255, 128, 10]), "x".repeat(5 * 1024 * 1024), "", null];
    const records = values.map((value, index) => returnOf(jid, `m${index}`, value));
    await put(context, records);
    for (const [index, record] of records.entries()) {
      const body = cache().getReturn(jid, `m${index}`);
      assert.deepEqual(returnedBy(body), decode(encode(values[index] as string, "bin")));
      if (traits.keepsWholeBody) assert.deepEqual(Buffer.from(body ?? []), Buffer.from(record.body));
    }
  });

  it("has everything after it was closed and opened again", async () => {
    await cache().putLoad(loadOf(jid, ["a", "z"]));
    await put(context, [returnOf(jid, "a")]);
    await cache().close();
    const again = await opened().reopen();
    assert.equal(again.getReturns(jid).length, 1);
    assert.deepEqual(again.getLoad(jid)?.minions, ["a", "z"]);
    assert.deepEqual(await again.putReturns([returnOf(jid, "a")]), ["duplicate"]);
  });
}

function loadsContract({ cache, traits }: Context): void {
  it("gives a load back with its bytes and minions, and undefined where there is none", async () => {
    const record = loadOf(jid, ["b", "a"], traits.keepsMissing ? { missing: ["ghost"] } : {});
    await cache().putLoad(record);
    const found = cache().getLoad(jid);
    assert.deepEqual({ ...found, load: Buffer.from(found?.load ?? []) }, { ...record, load: Buffer.from(record.load) });
    assert.equal(cache().getLoad("20990101000000000000"), undefined);
  });

  it("adds expected minions once each, and none to a job that it does not know", async () => {
    await cache().putLoad(loadOf(jid, ["a"]));
    await cache().addMinions(jid, ["b", "a", "c"]);
    await Promise.all([cache().addMinions(jid, ["d"]), cache().addMinions(jid, ["e"])]);
    assert.deepEqual(cache().getLoad(jid)?.minions.toSorted(), ["a", "b", "c", "d", "e"]);
    await cache().addMinions("20990101000000000000", ["x"]);
    assert.equal(cache().getLoad("20990101000000000000"), undefined);
  });

  it("replaces a load under the same id", async () => {
    await cache().putLoad(loadOf(jid, ["a"]));
    await cache().putLoad(loadOf(jid, ["b"]));
    assert.deepEqual(cache().getLoad(jid)?.minions, ["b"]);
  });
}

function listingContract({ cache }: Context): void {
  it("lists job ids from either end, up to a limit, before a given one", async () => {
    for (const minute of [3, 1, 2, 5, 4]) await cache().putLoad(loadOf(jidAtMinute(minute)));
    const list = (newestFirst: boolean, limit: number, before?: string) =>
      cache().listJids({ newestFirst, limit, ...(before === undefined ? {} : { before }) });
    const minutes = (...all: number[]) => all.map(jidAtMinute);
    assert.deepEqual(list(true, 10), minutes(5, 4, 3, 2, 1));
    assert.deepEqual(list(true, 2), minutes(5, 4));
    assert.deepEqual(list(true, 2, jidAtMinute(4)), minutes(3, 2));
    assert.deepEqual(list(false, 2), minutes(1, 2));
    assert.deepEqual(list(false, 10, jidAtMinute(3)), minutes(1, 2));
    assert.deepEqual(list(true, 10, jidAtMinute(1)), []);
  });

  it("lists ids that are no times after all others", async () => {
    for (const job of ["mine", jidAtMinute(1), "zzz", jidAtMinute(2)]) await cache().putLoad(loadOf(job));
    assert.deepEqual(cache().listJids({ newestFirst: true, limit: 10 }).slice(0, 2), [jidAtMinute(2), jidAtMinute(1)]);
    assert.deepEqual(cache().listJids({ newestFirst: true, limit: 10 }).slice(2).toSorted(), ["mine", "zzz"]);
  });
}

const exactly = (text: string): TextPattern => ({ exact: text, matches: (other) => other === text });
const starting = (start: string): TextPattern => ({ exact: undefined, matches: (text) => text.startsWith(start) });
const manyNames = Array.from({ length: 500 }, (_, index) => `node${index}`);

/** Minute of the job, and what was asked for. */
const searched: readonly (readonly [number, Readonly<Record<string, Encodable>>])[] = [
  [1, { fun: "test.ping", tgt: "es*", user: "root" }],
  [2, { fun: "cmd.run", tgt: "web*", user: "anna", kwargs: { metadata: { ticket: "OPS-1", team: "a" } } }],
  [3, { fun: "test.echo", tgt: ["es1", "db1"], user: "root", metadata: { ticket: "OPS-2", team: "b", level: 1 } }],
  [4, { fun: ["test.ping", "state.apply"], tgt: "G@role:web", user: "root", arg: [[], []] }],
  [5, { fun: "cmd.run", tgt: "es2", arg: ["x", { __kwarg__: true, metadata: { team: "b" } }] }],
  [6, { fun: "saltutil.find_job", tgt: manyNames, user: "root" }],
  [7, { fun: "f".repeat(5_000), tgt: "*", user: "root" }],
];

function searchContract({ cache }: Context): void {
  async function fill(): Promise<void> {
    for (const [minute, asked] of searched) {
      const jobId = jidAtMinute(minute);
      await cache().putLoad(loadOf(jobId, ["a"], { load: encode({ cmd: "publish", jid: jobId, ...asked }, "bin") }));
    }
    await cache().putLoad(loadOf("mine", ["a"], { load: encode({ jid: "mine", fun: "cmd.run", tgt: "es2" }, "bin") }));
  }
  const find = (query: Partial<JobQuery>) =>
    cache()
      .findJids({ limit: 100, ...query })
      .map((found) => searched.find(([minute]) => jidAtMinute(minute) === found)?.[0] ?? found);

  it("finds jobs by function, target text, user and metadata, newest first, ids that are no times last", async () => {
    await fill();
    assert.deepEqual(find({}), [7, 6, 5, 4, 3, 2, 1, "mine"]);
    assert.deepEqual(find({ functions: [exactly("cmd.run")] }), [5, 2, "mine"]);
    assert.deepEqual(find({ functions: [starting("test."), exactly("cmd.run")] }), [5, 4, 3, 2, 1, "mine"]);
    assert.deepEqual(find({ functions: [exactly("state.apply")] }), [4]);
    assert.deepEqual(find({ functions: [exactly("nothing.here")] }), []);
    assert.deepEqual(find({ targets: [exactly("es1")] }), [3]);
    assert.deepEqual(find({ targets: [exactly("node499")] }), [6]);
    assert.deepEqual(find({ targets: [starting("es")] }), [5, 3, 1, "mine"]);
    assert.deepEqual(find({ functions: [starting("ff")] }), [7]);
    assert.deepEqual(find({ users: [exactly("anna")] }), [2]);
    assert.deepEqual(find({ users: [exactly("root")], functions: [exactly("cmd.run")] }), [5, "mine"]);
    assert.deepEqual(find({ exceptFunction: "saltutil.find_job", limit: 3 }), [7, 5, 4]);
  });

  it("takes any equal pair of metadata, wherever the job has it, and Python's idea of equal", async () => {
    await fill();
    const pairs = (asked: Readonly<Record<string, Encodable>>) => decode(encode(asked, "bin")) as ValueMap;
    assert.deepEqual(find({ metadata: pairs({ ticket: "OPS-2", team: "a" }) }), [3, 2]);
    assert.deepEqual(find({ metadata: pairs({ team: "b" }) }), [5, 3]);
    assert.deepEqual(find({ metadata: pairs({ level: true }) }), [3]);
    assert.deepEqual(find({ metadata: pairs({ level: "1" }) }), []);
    assert.deepEqual(find({ metadata: pairs({}) }), []);
  });

  it("finds by time, page by page, and forgets what is trimmed or replaced", async () => {
    await fill();
    const minutes = (from: number, until: number) => ({
      from: jidAtMinute(from).slice(0, 20),
      until: jidAtMinute(until).slice(0, 20),
    });
    assert.deepEqual(find(minutes(2, 4)), [4, 3, 2]);
    assert.deepEqual(find({ limit: 3 }), [7, 6, 5]);
    assert.deepEqual(find({ limit: 3, before: jidAtMinute(5) }), [4, 3, 2]);
    assert.deepEqual(find({ limit: 3, before: jidAtMinute(2) }), [1, "mine"]);
    assert.deepEqual(find({ limit: 3, before: "mine" }), []);
    assert.deepEqual(find({ functions: [exactly("cmd.run")], limit: 1, before: jidAtMinute(5) }), [2]);
    await cache().putLoad(loadOf(jidAtMinute(2)));
    assert.deepEqual(find({ functions: [exactly("cmd.run")] }), [5, "mine"]);
    assert.deepEqual(find({ functions: [exactly("test.ping")] }), [4, 2, 1]);
  });

  it("gives what was asked without who was expected", async () => {
    await fill();
    const asked = cache().getRequest(jidAtMinute(1));
    assert.equal((decode(asked ?? Buffer.alloc(0)) as ValueMap).get("fun"), "test.ping");
    assert.equal(cache().getRequest("20990101000000000000"), undefined);
  });
}

function trimmingContract(context: Context): void {
  const { cache, opened } = context;
  it("removes old jobs with all that belongs to them, in bounded steps, and leaves the others", async () => {
    for (const minute of [1, 2, 3, 4]) {
      const job = jidAtMinute(minute);
      await cache().putLoad(loadOf(job));
      await put(context, [returnOf(job, "a"), returnOf(job, "b")]);
      opened().age?.(job, Date.UTC(2026, 0, 2, 3, 4, minute));
    }
    const olderThanJid = jidAtMinute(3);
    const steps: number[] = [];
    do steps.push(await cache().trim({ olderThanJid, stepsMax: 2 }));
    while (steps.at(-1) === 2);
    assert.ok(steps.every((count) => count <= 2));
    assert.deepEqual(cache().listJids({ newestFirst: false, limit: 10 }), [jidAtMinute(3), jidAtMinute(4)]);
    assert.deepEqual(cache().getReturns(jidAtMinute(1)), []);
    assert.equal(cache().getReturns(jidAtMinute(3)).length, 2);
    assert.deepEqual(cache().findJids({ limit: 10, functions: [exactly("test.ping")] }), [
      jidAtMinute(4),
      jidAtMinute(3),
    ]);
    assert.equal(await cache().trim({ olderThanJid, stepsMax: 2 }), 0);
  });

  it("removes jobs whose id is no time by the time at which they were stored", async () => {
    await cache().putLoad(loadOf("mine"));
    await put(context, [returnOf("mine", "a")]);
    const trim = (olderThanJid: string) => cache().trim({ olderThanJid, stepsMax: 100 });
    await trim("20200101000000000000");
    assert.equal(cache().getReturns("mine").length, 1, "it was stored just now");
    await trim("20990101000000000000");
    assert.equal(cache().getLoad("mine"), undefined);
    assert.deepEqual(cache().getReturns("mine"), []);
  });
}
