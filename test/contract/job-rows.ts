/** Rows of a job and its returns for tests of databases. */
import assert from "node:assert/strict";
import type { JobDatabase, Written } from "../../src/databases/contract/database.ts";
import { jobRow, type Row, returnRow } from "../../src/databases/contract/rows.ts";
import { hasCode } from "../../src/errors.ts";
import { encode } from "../../src/wire/msgpack.ts";
import type { Encodable } from "../../src/wire/values.ts";

export const jid = "20261120160907551658";

export function returned(
  minionId: string,
  value: Encodable,
  more: Readonly<Record<string, Encodable>> = {},
  jobId: string = jid,
  atMs?: number,
): Row {
  const answer = { cmd: "_return", id: minionId, success: true, return: value, retcode: 0, jid: jobId };
  return returnRow(jobId, minionId, encode({ ...answer, fun: "test.ping", ...more }, "bin"), atMs);
}

export function published(
  jobId: string,
  fun: Encodable = "test.ping",
  more: Readonly<Record<string, Encodable>> = {},
): Row {
  const asked = { cmd: "publish", tgt: "es*", fun, arg: [], tgt_type: "glob", ret: "", jid: jobId, user: "root" };
  return jobRow(jobId, encode({ ...asked, ...more }, "bin"));
}

/** Whether an error says that the database is down, without the password. */
export function isDownWithout(password: string, error: unknown): boolean {
  return hasCode(error, "DATABASE_FAILED") && !String(error).includes(password);
}

/** Writes rows into the database of the test that runs. */
export function writerOf(database: () => JobDatabase) {
  return async (rows: readonly Row[], mayBePresent = false): Promise<Written> =>
    await database().write(rows, { mayBePresent });
}

/** A minion wrote its row itself. The master's is written beside it, once. */
export async function assertBothRowsKept(database: JobDatabase): Promise<void> {
  const own = { success: true, return: 1, retcode: 0, jid, fun: "test.ping", fun_args: [], id: "es1" };
  await database.write([returnRow(jid, "es1", encode(own, "bin"))], { mayBePresent: false });
  const again = () => database.write([returned("es1", 1)], { mayBePresent: true, isOwnOnly: true });
  assert.deepEqual(await again(), { jobs: 0, returns: 1, present: 0 });
  assert.deepEqual(await again(), { jobs: 0, returns: 0, present: 1 });
}
