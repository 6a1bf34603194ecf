/** Batch jobs shown to operators: from their logs and the returns of their steps, with and without a running master. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import type { RunnerContext, RunnerJobReader } from "../../../src/runners/contract/contract.ts";
import { BatchLog, batchDirectory } from "../../../src/store/jobs/batch-log.ts";
import type { BatchEntry } from "../../../src/wire/batch-options.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { temporaryDirectories } from "../../store/temporary.ts";
import { callRunner, noJobs, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const [over, left] = ["20261120155553000000", "20261120155554000000"];
const steps: { readonly [jid: string]: { readonly [id: string]: string } } = {
  "20261120155553000001": { a: "of a", b: "of b" },
  "20261120155553000002": { c: "of c" },
};
const jobs: RunnerJobReader = {
  ...noJobs,
  returns: async (jid, { of }) => ({
    returns: Object.entries(steps[jid] ?? {})
      .filter(([minionId]) => of?.includes(minionId) ?? true)
      .map(([minionId, value]) => ({
        minionId,
        body: encode({ return: value, retcode: 0, success: true }, "bin"),
      })),
    hasMore: false,
  }),
};

type Statuses = {
  readonly [jid: string]: {
    readonly Over?: boolean;
    readonly Counts?: { readonly [state: string]: number };
    readonly Minions?: { readonly [id: string]: { readonly State: string; readonly Reason?: string } };
  };
};

describe("batch jobs for operators", () => {
  const temporary = temporaryDirectories();
  let cachedir: string;
  before(() => {
    cachedir = temporary();
    const load = Buffer.from(encode({ fun: "cmd.run", arg: ["x"], tgt: "*", tgt_type: "glob" }, "bin")).toString(
      "base64",
    );
    const head = { at: 1, user: "ann", ping: "1", expected: 3, timeoutMs: 1, gatherTimeoutMs: 1, size: "2", load };
    const plan = { waitSeconds: 0, isFailHard: false, canary: 0, failuresMax: "", isStatic: false };
    const counts = { minions: 4, absent: 0, queued: 0, running: 0, returned: 3, failed: 1, silent: 1, retcode: 0 };
    const both: BatchEntry[] = [
      { kind: "queue", ids: ["a", "b", "c", "d"], absent: ["e"], window: 2 },
      ...Object.entries(steps).map(([jid, of]) => ({ kind: "start", jid, ids: Object.keys(of), at: 2 }) as const),
    ];
    for (const jid of [over, left]) {
      const log = BatchLog.create(batchDirectory(cachedir), jid);
      for (const entry of [{ kind: "new", jid, ...head, ...plan } as const, ...both]) log.append(entry);
      if (jid === over) {
        const step = { kind: "return", jid: "20261120155553000001", at: 3 } as const;
        log.append({ ...step, id: "a", retcode: 0 });
        log.append({ ...step, id: "b", retcode: 2 });
        log.append({ kind: "silent", jid: "20261120155553000002", ids: ["d"], at: 3 });
        log.append({ kind: "done", at: 4, outcome: "finished", culprit: "", ...counts });
      }
      log.close();
    }
  });

  const call = (name: string, ...args: string[]) =>
    callRunner(runnerContext({ jobs, config: { cachedir } }), name, args);

  it("are listed with their state, which is interrupted if no master runs them", async () => {
    const listed = (await call("jobs.batches")) as Record<string, Record<string, unknown>>;
    assert.deepEqual(Object.keys(listed), [over, left]);
    const { Function: fun, User, State, Returned, Silent } = listed[over] ?? {};
    assert.deepEqual(
      { fun, User, State, Returned, Silent },
      { fun: "cmd.run", User: "ann", State: "finished", Returned: 3, Silent: 1 },
    );
    assert.equal(listed[left]?.State, "interrupted");
  });

  it("are listed if the log of another one is damaged, which a note tells", async () => {
    const damaged = "20261120155555000000";
    const path = join(batchDirectory(cachedir), `${damaged}.log`);
    writeFileSync(path, "\0\0\0\n");
    const notes: string[] = [];
    const context = { ...runnerContext({ jobs, config: { cachedir } }), note: (text: string) => notes.push(text) };
    assert.deepEqual(Object.keys((await callRunner(context, "jobs.batches", [])) as object), [over, left]);
    assert.match(notes.join(), new RegExp(`^Batch ${damaged}: the log of a batch failed: `));
    rmSync(path);
  });

  it("have the returns of all their steps under their own job id", async () => {
    assert.deepEqual(await call("jobs.lookup_jid", over), { a: "of a", b: "of b", c: "of c" });
  });

  it("have a state for each minion, for running steps the one that the master knows", async () => {
    const minionsOf = async (context: RunnerContext, jid: string) => {
      const { Over, Counts, Minions } = ((await callRunner(context, "jobs.status", [jid])) as Statuses)[jid] ?? {};
      const states = Object.entries(Minions ?? {}).map(([id, { State, Reason }]) => [id, State, Reason ?? ""]);
      return { Over, lost: Counts?.lost, states };
    };
    const context = runnerContext({ jobs, config: { cachedir } });
    assert.deepEqual(await minionsOf(context, over), {
      Over: true,
      lost: 2,
      states: [
        ["a", "returned", ""],
        ["b", "failed", ""],
        ["c", "sent", "the batch job did not wait for it: finished"],
        ["d", "lost", "it did not return; see jobs.status 20261120155553000002"],
        ["e", "lost", "it did not answer the ping that began the batch job"],
      ],
    });
    const running = { id: "c", state: "running", atMs: 7, reason: "still running" };
    const step = { fun: "", sentMs: 1, overMs: undefined, counts: {}, omitted: 0, unknown: new Map() };
    const master = masterAccess({
      jobStatus: async ({ jid }) => ({
        ...step,
        waitsUntilMs: undefined,
        minions: jid.endsWith("2") ? [running, { ...running, id: "a" }] : [],
      }),
    });
    assert.deepEqual(await minionsOf({ ...context, master }, left), {
      Over: false,
      lost: 1,
      states: [
        ["a", "sent", ""],
        ["b", "sent", ""],
        ["c", "running", "still running"],
        ["d", "targeted", "its turn has not come"],
        ["e", "lost", "it did not answer the ping that began the batch job"],
      ],
    });
  });

  it("say by a code that they do not run, or are in another state", async () => {
    const master = masterAccess({
      controlBatch: async ({ action }) => (action === "abort" ? "unknown" : "paused"),
      cancelPending: async () => undefined,
    });
    const asked = async (name: string) =>
      await callRunner({ ...runnerContext({ jobs, config: { cachedir } }), master }, name, [left]);
    await assert.rejects(asked("jobs.pause"), { code: "JOB_STATE", message: /cannot be paused: it is paused/ });
    await assert.rejects(asked("jobs.abort"), { code: "JOB_UNKNOWN", message: /is not running/ });
    await assert.rejects(asked("jobs.cancel"), { code: "JOB_STATE", message: /waits for no minion/ });
  });

  it("cannot be controlled without a master, or by the job id of another job", async () => {
    await assert.rejects(call("jobs.abort", left), { code: "MASTER_UNREACHABLE" });
    await assert.rejects(call("jobs.follow", "20261120155559000000"), { code: "FUNCTION_ARGUMENTS" });
  });
});
