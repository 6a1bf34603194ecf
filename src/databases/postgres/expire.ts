/**
 * Removes old rows of `pgjsonb` as Salt's `clean_old_jobs` does, a few at a time: returns and events by `alter_time`, and the jobs of these returns.
 * Salt's tables have no index on `alter_time`, so that rows are looked up by job id, which is a time that is never after the return's.
 */
import { jidAt } from "../../wire/jid.ts";
import { checkClock } from "../contract/clock.ts";
import type { Expired, ExpiryStep } from "../contract/database.ts";
import { afterTimes } from "../sql/reader.ts";
import type { PostgresValue } from "./client.ts";
import type { PostgresSession } from "./session.ts";

/** In this order. `named`: returns of jobs whose ids are not times. `jobs`: jobs without a return, which Salt keeps forever. */
const phases = ["returns", "named", "jobs", "events"] as const;
type Phase = (typeof phases)[number];
type Table = "jids" | "salt_returns" | "salt_events";
/** `stamp`: rows whose `alter_time` is before it are old. `jid`: no older row has a job id after it that is a time. */
type Cut = { readonly stamp: string; readonly jid: string };
type Counts = { readonly jobs: number; readonly returns: number; readonly events: number };
type Asked = ExpiryStep & { readonly cut: Cut };

const none: Counts = { jobs: 0, returns: 0, events: 0 };

/** @throws SaltworksError DATABASE_FAILED */
export async function expireRows(session: PostgresSession, o: ExpiryStep): Promise<Expired> {
  const cut = await cutOf(session, o.keepSeconds);
  const phase = phases.find((each) => each === o.after) ?? "returns";
  if (o.after === undefined && o.archives) await makeArchives(session);
  const counts = await session.transaction(() => steps[phase](session, { ...o, cut }));
  const isFull = Math.max(counts.jobs, counts.returns, counts.events) >= o.rowsMax;
  return { ...counts, next: isFull ? phase : phases[phases.indexOf(phase) + 1] };
}

const steps: Readonly<Record<Phase, (session: PostgresSession, o: Asked) => Promise<Counts>>> = {
  returns: (session, o) => expireReturns(session, o, "jid >= '0' AND jid < $2", o.cut.jid),
  named: (session, o) => expireReturns(session, o, "(jid < '0' OR jid > $2)", afterTimes),
  jobs: expireJobs,
  events: expireEvents,
};

async function cutOf(session: PostgresSession, keepSeconds: number): Promise<Cut> {
  const sql =
    "SELECT (now() - make_interval(secs => $1::double precision))::text AS stamp, extract(epoch FROM now())::bigint AS seconds";
  const [row] = await session.rows(sql, [keepSeconds]);
  const nowMs = Number(row?.seconds) * 1_000;
  checkClock(session.place, nowMs);
  return { stamp: String(row?.stamp), jid: jidAt(Math.max(0, nowMs - keepSeconds * 1_000), 0) };
}

/** `salt_events` may be missing, as in a database where no program writes events. */
async function makeArchives(session: PostgresSession): Promise<void> {
  for (const table of ["jids", "salt_returns", "salt_events"] as const) {
    if (await isThere(session, table))
      await session.run(`CREATE TABLE IF NOT EXISTS ${table}_archive (LIKE ${table})`, []);
  }
}

async function isThere(session: PostgresSession, table: Table): Promise<boolean> {
  const [found] = await session.rows("SELECT to_regclass($1) AS name", [table]);
  return found?.name !== null;
}

async function expireReturns(session: PostgresSession, o: Asked, range: string, bound: string): Promise<Counts> {
  const meant = `ctid = ANY(ARRAY(SELECT ctid FROM salt_returns WHERE ${range} AND alter_time < $1::timestamptz ORDER BY jid LIMIT ${o.rowsMax}))`;
  const returns = await move(session, "salt_returns", { meant, values: [o.cut.stamp, bound], archives: o.archives });
  if (returns.length === 0) return none;
  const of = { meant: "jid = ANY($1::text[])", values: [[...new Set(returns)]], archives: o.archives };
  const jobs = await move(session, "jids", of);
  return { ...none, jobs: jobs.length, returns: returns.length };
}

async function expireJobs(session: PostgresSession, { cut, rowsMax, archives }: Asked): Promise<Counts> {
  const meant =
    "jid = ANY(ARRAY(SELECT jid FROM jids WHERE jid >= '0' AND jid < $1 AND jid ~ '^[0-9]{20}(_.+)?$' AND NOT EXISTS " +
    `(SELECT 1 FROM salt_returns WHERE salt_returns.jid = jids.jid) ORDER BY jid LIMIT ${rowsMax}))`;
  return { ...none, jobs: (await move(session, "jids", { meant, values: [cut.jid], archives })).length };
}

async function expireEvents(session: PostgresSession, { cut, rowsMax, archives }: Asked): Promise<Counts> {
  if (!(await isThere(session, "salt_events"))) return none;
  const meant =
    "id = ANY(ARRAY(SELECT id FROM (SELECT id, alter_time FROM salt_events ORDER BY id " +
    `LIMIT ${rowsMax}) AS first_ones WHERE alter_time < $1::timestamptz))`;
  const events = await move(session, "salt_events", { meant, values: [cut.stamp], archives });
  return { ...none, events: events.length };
}

type Move = { readonly meant: string; readonly values: readonly PostgresValue[]; readonly archives: boolean };

/** Removes rows, into the archive if they are to be kept. @returns the job id, or the id of the event, of each */
async function move(session: PostgresSession, table: Table, { meant, values, archives }: Move): Promise<string[]> {
  const key = table === "salt_events" ? "id" : "jid";
  const kept = archives ? `, kept AS (INSERT INTO ${table}_archive SELECT * FROM moved)` : "";
  const sql = `WITH moved AS (DELETE FROM ${table} WHERE ${meant} RETURNING *)${kept} SELECT ${key} AS key FROM moved`;
  return (await session.rows(sql, values)).map((row) => String(row.key));
}
