/** A returner in Python as a database of jobs: which rows are written again, which are refused, and how many are written at once. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jobRow, type Row, returnRow } from "../../src/databases/contract/rows.ts";
import { SaltworksError } from "../../src/errors.ts";
import type { Sidecar } from "../../src/sidecar/sidecar.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Value } from "../../src/wire/values.ts";
import { PythonJobs } from "../../src/workers/python-jobs.ts";

type Asked = { readonly rows: readonly { readonly jid: string; readonly kind: string; readonly minions?: unknown }[] };
type Attempt = readonly [jid: string, failure?: string | undefined, wasPresent?: boolean];

const how = { mayBePresent: false };
const ret = (jid: string): Row => returnRow(jid, "web1", encode({ jid, id: "web1", fun: "test.ping" }, "bin"));

/** `answers`: attempts that Python tells at each write, or its failure. The last one is for all later writes. */
function opened(answers: readonly (readonly Attempt[] | Error)[]) {
  const asked: Asked["rows"][] = [];
  const ask = async (request: unknown) => {
    const { rows } = request as Asked;
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(rows);
    if (answer instanceof Error) throw answer;
    const placeOf = (jid: string) => rows.findIndex((row) => row.jid === jid);
    const value: Value = answer.map(([jid, failure = null, wasPresent = false]) => [placeOf(jid), failure, wasPresent]);
    return { value, printed: "" };
  };
  const jobs = new PythonJobs("site_jobs", "site_jobs in python", {
    ask,
    close: () => undefined,
  } as unknown as Sidecar);
  return { jobs, jidsAsked: () => asked.map((rows) => rows.map(({ jid }) => jid)), asked };
}

describe("a job cache in Python", () => {
  it("gets the expected minions of a job, and counts what was there", async () => {
    const { jobs, asked } = opened([[["1"], ["2", undefined, true]]]);
    const job = jobRow("1", encode({ fun: "test.ping" }, "bin"), () => ["web1", "web2"]);
    assert.deepEqual(await jobs.write([job, ret("2")], how), { jobs: 1, returns: 0, present: 1 });
    assert.deepEqual(
      asked[0]?.map(({ kind, minions }) => [kind, minions]),
      [
        ["job", ["web1", "web2"]],
        ["return", undefined],
      ],
    );
  });

  it("asks no row again that was written before the others failed", async () => {
    const away = "OSError: away";
    const { jobs, jidsAsked } = opened([[["1"], ["2", away], ["3", away]], [["2", away]], [["2"], ["3"]]]);
    const rows = ["1", "2", "3"].map(ret);
    await assert.rejects(jobs.write(rows, how), {
      code: "DATABASE_FAILED",
      message: /site_jobs in python: OSError: away/,
    });
    assert.deepEqual(await jobs.write(rows, how), { jobs: 0, returns: 3, present: 0 });
    assert.deepEqual(jidsAsked(), [
      ["1", "2", "3"],
      ["2", "3"],
      ["2", "3"],
    ]);
  });

  it("refuses a row only after others were taken twice when it had failed", async () => {
    const odd = "ValueError: odd";
    const attempts: readonly Attempt[] = [["1", odd], ["2"], ["1", odd], ["3"], ["1", odd]];
    const { jobs } = opened([attempts]);
    const rows = ["1", "2", "3"].map(ret);
    const isRefused = { code: "DATABASE_REFUSED", message: "site_jobs in python: ValueError: odd" };
    await assert.rejects(jobs.write(rows, how), isRefused);
    // Halves are then written apart: nothing is asked again.
    await assert.rejects(jobs.write(rows.slice(0, 1), how), isRefused);
    assert.deepEqual(await jobs.write(rows.slice(1), how), { jobs: 0, returns: 2, present: 0 });
  });

  it("writes more at once while it is quick, and after a failure enough to find another row", async () => {
    const { jobs } = opened([[["1"]], [["1"]], [["1", "OSError: away"]]]);
    assert.equal(jobs.rowsMax, 1);
    for (const most of [2, 4]) {
      await jobs.write([ret("1")], how);
      assert.equal(jobs.rowsMax, most);
    }
    await assert.rejects(jobs.write([ret("1")], how), { code: "DATABASE_FAILED" });
    assert.equal(jobs.rowsMax, 8);
  });

  it("says that a write was cut when Python ended, and not for what Python raised", async () => {
    const cutBy = async (error: Error) => {
      const failure = await opened([error])
        .jobs.write([ret("1")], how)
        .catch((thrown: SaltworksError) => thrown.detail);
      return (failure as { readonly isCut: boolean }).isCut;
    };
    assert.equal(await cutBy(new SaltworksError("SIDECAR_FAILED", "Python ended by itself")), true);
    assert.equal(await cutBy(new SaltworksError("SIDECAR_TIMEOUT", "Python took longer")), true);
    assert.equal(await cutBy(new SaltworksError("FUNCTION_FAILED", "odd", { className: "KeyError" })), false);
  });
});
