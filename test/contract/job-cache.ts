/** The contract of every job cache, whatever its storage. A driver's test calls this with a function that opens an empty one. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { exactly, type JobQuery, type TextPattern } from "../../src/store/jobs/facts.ts";
import type { JobCache, PutOutcome, ReturnRecord } from "../../src/store/jobs/job-cache.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../src/wire/values.ts";
import { pagesContract } from "./job-pages.ts";
import { loadOf, returnOf } from "./job-samples.ts";
import { returnsIn } from "./returns-in.ts";

export type OpenedJobCache = {
  readonly cache: JobCache;
  /** Opens the same data again. */
  readonly reopen: () => Promise<JobCache>;
  readonly remove: () => Promise<void>;
  /** Sets a job's time of storing, for drivers that use the clock. */
  readonly age?: (jid: string, storedMs: number) => void;
};
export type JobCacheTraits = {
  /** Whether bodies are returned byte for byte. Otherwise only `return`, `retcode`, `success`, `out`, `jid` and `id` are kept. */
  readonly keepsWholeBody: boolean;
  /** Whether names in the target that are not minions are kept. */
  readonly keepsMissing: boolean;
};

const jid = "20260102030405000001";

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
    pagesContract({ cache: () => cache, reopen: () => opened.reopen() });
    loadsContract(context);
    listingContract(context);
    searchContract(context);
    trimmingContract(context);
  });
}

function put({ cache }: Context, records: readonly ReturnRecord[]): Promise<PutOutcome[]> {
  return cache().keepReturns(records);
}

type Context = {
  readonly cache: () => JobCache;
  readonly opened: () => OpenedJobCache;
  readonly traits: JobCacheTraits;
};

function returnsContract(context: Context): void {
  const { cache, opened, traits } = context;
  it("keeps the first return of a minion and calls a second one a duplicate", async () => {
    await cache().keepJobs([loadOf(jid)]);
    assert.deepEqual(await put(context, [returnOf(jid, "a", "first")]), ["stored"]);
    assert.deepEqual(await put(context, [returnOf(jid, "b"), returnOf(jid, "a", "second")]), ["stored", "duplicate"]);
    assert.equal(returnedBy(await cache().returnOf(jid, "a")), "first");
  });

  it("tells a duplicate within one batch", async () => {
    await cache().keepJobs([loadOf(jid)]);
    assert.deepEqual(await put(context, [returnOf(jid, "a", 1), returnOf(jid, "a", 2)]), ["stored", "duplicate"]);
    assert.equal(returnedBy(await cache().returnOf(jid, "a")), 1);
  });

  it("stores a return once however many put it at the same time", async () => {
    await cache().keepJobs([loadOf(jid)]);
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => put(context, [returnOf(jid, "a", index)])),
    );
    assert.equal(outcomes.flat().filter((outcome) => outcome === "stored").length, 1);
  });

  it("lists a job's returns by minion id, and of no other job", async () => {
    const longer = `${jid}_77`;
    for (const job of [jid, longer]) await cache().keepJobs([loadOf(job)]);
    await put(context, [
      returnOf(jid, "web2"),
      returnOf(jid, "web10"),
      returnOf(longer, "other"),
      returnOf(jid, "Ärger"),
    ]);
    assert.deepEqual(
      (await returnsIn(cache(), jid)).map(({ minionId }) => minionId),
      ["web10", "web2", "Ärger"],
    );
    assert.deepEqual(
      (await returnsIn(cache(), longer)).map(({ minionId }) => minionId),
      ["other"],
    );
    assert.deepEqual(await returnsIn(cache(), "20990101000000000000"), []);
    assert.equal(await cache().returnOf(jid, "nobody"), undefined);
  });

  it("gives bytes back as they were, unicode, binary and five megabytes alike", async () => {
    await cache().keepJobs([loadOf(jid)]);
    const values = ["snow ☃ 𝄞", Buffer.from([0, 255, 128, 10]), "x".repeat(5 * 1024 * 1024), "", null];
    const records = values.map((value, index) => returnOf(jid, `m${index}`, value));
    await put(context, records);
    for (const [index, record] of records.entries()) {
      const body = await cache().returnOf(jid, `m${index}`);
      assert.deepEqual(returnedBy(body), decode(encode(values[index] as string, "bin")));
      if (traits.keepsWholeBody) assert.deepEqual(Buffer.from(body ?? []), Buffer.from(record.body));
    }
  });

  it("has everything after it was closed and opened again", async () => {
    await cache().keepJobs([loadOf(jid, ["a", "z"])]);
    await put(context, [returnOf(jid, "a")]);
    await cache().close();
    const again = await opened().reopen();
    assert.equal((await returnsIn(again, jid)).length, 1);
    assert.deepEqual((await again.job(jid))?.minions, ["a", "z"]);
    assert.deepEqual(await again.keepReturns([returnOf(jid, "a")]), ["duplicate"]);
  });
}

function loadsContract({ cache, traits }: Context): void {
  it("gives a load back with its bytes and minions, and undefined where there is none", async () => {
    const record = loadOf(jid, ["b", "a"], traits.keepsMissing ? { missing: ["ghost"] } : {});
    await cache().keepJobs([record]);
    const found = await cache().job(jid);
    assert.deepEqual({ ...found, load: Buffer.from(found?.load ?? []) }, { ...record, load: Buffer.from(record.load) });
    assert.equal(await cache().job("20990101000000000000"), undefined);
  });

  it("keeps a job that a minion started, unless there is one under its id", async () => {
    await cache().keepNewJob(jid, () => loadOf(jid, ["a"]));
    assert.deepEqual((await cache().job(jid))?.minions, ["a"]);
    await cache().keepNewJob(jid, () => assert.fail("nothing is made for a job that is there"));
    assert.deepEqual((await cache().job(jid))?.minions, ["a"]);
    assert.deepEqual(await cache().find({ limit: 10 }), [jid]);
  });

  it("adds minions of lower masters to a known job", async () => {
    const record = loadOf(jid, ["a"]);
    await cache().keepJobs([record]);
    await cache().addMinions(jid, "low1", ["b", "a"]);
    await cache().addMinions(jid, "low2", ["c"]);
    await cache().addMinions("20990101000000000000", "low1", ["b"]);
    const found = await cache().job(jid);
    assert.deepEqual([...(found?.minions ?? [])].sort(), ["a", "b", "c"]);
    assert.deepEqual(Buffer.from(found?.load ?? []), Buffer.from(record.load));
    assert.equal(await cache().job("20990101000000000000"), undefined);
    assert.deepEqual(await cache().find({ limit: 10 }), [jid]);
  });

  it("replaces a load under the same id", async () => {
    await cache().keepJobs([loadOf(jid, ["a"])]);
    await cache().keepJobs([loadOf(jid, ["b"])]);
    assert.deepEqual((await cache().job(jid))?.minions, ["b"]);
  });
}

function listingContract({ cache }: Context): void {
  it("lists job ids from either end, up to a limit, before a given one", async () => {
    for (const minute of [3, 1, 2, 5, 4]) await cache().keepJobs([loadOf(jidAtMinute(minute))]);
    const list = (newestFirst: boolean, limit: number, before?: string) =>
      cache().list({ newestFirst, limit, ...(before === undefined ? {} : { before }) });
    const minutes = (...all: number[]) => all.map(jidAtMinute);
    assert.deepEqual(await list(true, 10), minutes(5, 4, 3, 2, 1));
    assert.deepEqual(await list(true, 2), minutes(5, 4));
    assert.deepEqual(await list(true, 2, jidAtMinute(4)), minutes(3, 2));
    assert.deepEqual(await list(false, 2), minutes(1, 2));
    assert.deepEqual(await list(false, 10, jidAtMinute(3)), minutes(1, 2));
    assert.deepEqual(await list(true, 10, jidAtMinute(1)), []);
  });

  it("lists ids that are not times after all others", async () => {
    for (const job of ["mine", jidAtMinute(1), "zzz", jidAtMinute(2)]) await cache().keepJobs([loadOf(job)]);
    assert.deepEqual((await cache().list({ newestFirst: true, limit: 10 })).slice(0, 2), [
      jidAtMinute(2),
      jidAtMinute(1),
    ]);
    assert.deepEqual((await cache().list({ newestFirst: true, limit: 10 })).slice(2).toSorted(), ["mine", "zzz"]);
  });
}

const starting = (start: string): TextPattern => ({ exact: undefined, matches: (text) => text.startsWith(start) });
const manyNames = Array.from({ length: 500 }, (_, index) => `node${index}`);

/** The minute of the job, and the search. */
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
      await cache().keepJobs([loadOf(jobId, ["a"], { load: encode({ cmd: "publish", jid: jobId, ...asked }, "bin") })]);
    }
    await cache().keepJobs([
      loadOf("mine", ["a"], { load: encode({ jid: "mine", fun: "cmd.run", tgt: "es2" }, "bin") }),
    ]);
  }
  const find = async (query: Partial<JobQuery>) =>
    (await cache().find({ limit: 100, ...query })).map(
      (found) => searched.find(([minute]) => jidAtMinute(minute) === found)?.[0] ?? found,
    );

  it("finds jobs by function, target text, user and metadata, newest first, ids that are not times last", async () => {
    await fill();
    assert.deepEqual(await find({}), [7, 6, 5, 4, 3, 2, 1, "mine"]);
    assert.deepEqual(await find({ functions: [exactly("cmd.run")] }), [5, 2, "mine"]);
    assert.deepEqual(await find({ functions: [starting("test."), exactly("cmd.run")] }), [5, 4, 3, 2, 1, "mine"]);
    assert.deepEqual(await find({ functions: [exactly("state.apply")] }), [4]);
    assert.deepEqual(await find({ functions: [exactly("nothing.here")] }), []);
    assert.deepEqual(await find({ targets: [exactly("es1")] }), [3]);
    assert.deepEqual(await find({ targets: [exactly("node499")] }), [6]);
    assert.deepEqual(await find({ targets: [starting("es")] }), [5, 3, 1, "mine"]);
    assert.deepEqual(await find({ functions: [starting("ff")] }), [7]);
    assert.deepEqual(await find({ users: [exactly("anna")] }), [2]);
    assert.deepEqual(await find({ users: [exactly("root")], functions: [exactly("cmd.run")] }), [5, "mine"]);
    assert.deepEqual(await find({ exceptFunction: "saltutil.find_job", limit: 3 }), [7, 5, 4]);
  });

  it("takes any equal pair of metadata, wherever the job has it, and Python's idea of equal", async () => {
    await fill();
    const pairs = (asked: Readonly<Record<string, Encodable>>) => decode(encode(asked, "bin")) as ValueMap;
    assert.deepEqual(await find({ metadata: pairs({ ticket: "OPS-2", team: "a" }) }), [3, 2]);
    assert.deepEqual(await find({ metadata: pairs({ team: "b" }) }), [5, 3]);
    assert.deepEqual(await find({ metadata: pairs({ level: true }) }), [3]);
    assert.deepEqual(await find({ metadata: pairs({ level: "1" }) }), []);
    assert.deepEqual(await find({ metadata: pairs({}) }), []);
  });

  it("finds by time, page by page, and forgets what is trimmed or replaced", async () => {
    await fill();
    const minutes = (from: number, until: number) => ({
      from: jidAtMinute(from).slice(0, 20),
      until: jidAtMinute(until).slice(0, 20),
    });
    assert.deepEqual(await find(minutes(2, 4)), [4, 3, 2]);
    assert.deepEqual(await find({ limit: 3 }), [7, 6, 5]);
    assert.deepEqual(await find({ limit: 3, before: jidAtMinute(5) }), [4, 3, 2]);
    assert.deepEqual(await find({ limit: 3, before: jidAtMinute(2) }), [1, "mine"]);
    assert.deepEqual(await find({ limit: 3, before: "mine" }), []);
    assert.deepEqual(await find({ functions: [exactly("cmd.run")], limit: 1, before: jidAtMinute(5) }), [2]);
    await cache().keepJobs([loadOf(jidAtMinute(2))]);
    assert.deepEqual(await find({ functions: [exactly("cmd.run")] }), [5, "mine"]);
    assert.deepEqual(await find({ functions: [exactly("test.ping")] }), [4, 2, 1]);
  });

  it("gives what was asked without who was expected", async () => {
    await fill();
    const asked = await cache().request(jidAtMinute(1));
    assert.equal((decode(asked ?? Buffer.alloc(0)) as ValueMap).get("fun"), "test.ping");
    assert.equal(await cache().request("20990101000000000000"), undefined);
  });
}

function trimmingContract(context: Context): void {
  const { cache, opened } = context;
  it("removes old jobs with all that belongs to them, in bounded steps, and leaves the others", async () => {
    for (const minute of [1, 2, 3, 4]) {
      const job = jidAtMinute(minute);
      await cache().keepJobs([loadOf(job)]);
      await put(context, [returnOf(job, "a"), returnOf(job, "b")]);
      opened().age?.(job, Date.UTC(2026, 0, 2, 3, 4, minute));
    }
    const olderThanJid = jidAtMinute(3);
    const steps: number[] = [];
    let hasMore = true;
    while (hasMore) {
      const trimmed = await cache().trim({ olderThanJid, stepsMax: 2 });
      steps.push(trimmed.removed);
      assert.equal(trimmed.olderThanJid, olderThanJid);
      hasMore = trimmed.hasMore;
    }
    assert.ok(steps.every((count) => count <= 2));
    assert.deepEqual(await cache().list({ newestFirst: false, limit: 10 }), [jidAtMinute(3), jidAtMinute(4)]);
    assert.deepEqual(await returnsIn(cache(), jidAtMinute(1)), []);
    assert.equal((await returnsIn(cache(), jidAtMinute(3))).length, 2);
    assert.deepEqual(await cache().find({ limit: 10, functions: [exactly("test.ping")] }), [
      jidAtMinute(4),
      jidAtMinute(3),
    ]);
    assert.deepEqual(await cache().trim({ olderThanJid, stepsMax: 2 }), { removed: 0, hasMore: false, olderThanJid });
  });

  it("removes jobs whose id is not a time by the time at which they were stored", async () => {
    await cache().keepJobs([loadOf("mine")]);
    await put(context, [returnOf("mine", "a")]);
    const trim = (olderThanJid: string) => cache().trim({ olderThanJid, stepsMax: 100 });
    await trim("20200101000000000000");
    assert.equal((await returnsIn(cache(), "mine")).length, 1, "it was stored just now");
    await trim("20990101000000000000");
    assert.equal(await cache().job("mine"), undefined);
    assert.deepEqual(await returnsIn(cache(), "mine"), []);
  });
}
