/**
 * Removes old rows of `pgjsonb` as Salt's `clean_old_jobs` does, a few at a time: returns and events by `alter_time`, and the jobs of these returns.
 * Salt's tables have no index on `alter_time`, so that rows are looked up by job id, which is a time that is never after the return's.
 */
import { databaseLooksMax } from "../../limits.ts";
import { jidAt } from "../../wire/jid.ts";
import { checkClock } from "../contract/clock.ts";
import type { Expired, ExpiryStep } from "../contract/database.ts";
import { followingPhase, type Phase, type Place, placeIn, textOf } from "../sql/expiry-phases.ts";
import type { PostgresValue } from "./client.ts";
import type { PostgresSession } from "./session.ts";

type Table = "jids" | "salt_returns" | "salt_events";
/** `stamp`: rows whose `alter_time` is before it are old. `jid`: no older row has a job id after it that is a time. */
type Cut = { readonly stamp: string; readonly jid: string };
type Counts = { readonly jobs: number; readonly returns: number; readonly events: number };
type Step = Counts & { readonly next: Place | undefined };
type Asked = ExpiryStep & { readonly after: string; readonly cut: Cut };

const none: Counts = { jobs: 0, returns: 0, events: 0 };

/** @throws SaltworksError DATABASE_FAILED */
export async function expireRows(session: PostgresSession, o: ExpiryStep): Promise<Expired> {
  const cut = await cutOf(session, o.keepSeconds);
  const { phase, after } = placeIn(o.after);
  if (o.after === undefined && o.archives) await makeArchives(session);
  const { next, ...counts } = await session.transaction(() => steps[phase](session, { ...o, after, cut }));
  return { ...counts, next: next === undefined ? undefined : textOf(next) };
}

const steps: Readonly<Record<Phase, (session: PostgresSession, o: Asked) => Promise<Step>>> = {
  returns: (session, o) => expireReturns(session, o, "returns", o.cut.jid),
  named: (session, o) => expireReturns(session, o, "named", undefined),
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
    const key = table === "jids" ? ", PRIMARY KEY (jid)" : "";
    if (await isThere(session, table))
      await session.run(`CREATE TABLE IF NOT EXISTS ${table}_archive (LIKE ${table}${key})`, []);
  }
}

async function isThere(session: PostgresSession, table: Table): Promise<boolean> {
  const [found] = await session.rows("SELECT to_regclass($1) AS name", [table]);
  return found?.name !== null;
}

/** A step for returns of the jobs after `o.after` and before `below`. What it removed is not looked at again, so a full step is repeated. */
async function expireReturns(
  session: PostgresSession,
  o: Asked,
  phase: Phase,
  below: string | undefined,
): Promise<Step> {
  const { cut, rowsMax, archives } = o;
  const { sql, values, beyond } = await rangeOf(session, "salt_returns", { phase, after: o.after }, below);
  const meant =
    `ctid = ANY(ARRAY(SELECT ctid FROM salt_returns WHERE ${sql} AND alter_time < $${values.length + 1}::timestamptz ` +
    `ORDER BY jid LIMIT ${rowsMax}))`;
  const returns = await move(session, "salt_returns", { meant, values: [...values, cut.stamp], archives });
  const next = returns.length < rowsMax ? beyond : { phase, after: o.after };
  if (returns.length === 0) return { ...none, next };
  const of = { meant: "jid = ANY($1::text[])", values: [[...new Set(returns)]], archives };
  const jobs = await move(session, "jids", of);
  return { ...none, jobs: jobs.length, returns: returns.length, next };
}

async function expireJobs(session: PostgresSession, { after, cut, rowsMax, archives }: Asked): Promise<Step> {
  const phase = "jobs";
  const { sql, values, beyond } = await rangeOf(session, "jids", { phase, after }, cut.jid);
  const meant =
    `jid = ANY(ARRAY(SELECT jid FROM jids WHERE ${sql} AND jid ~ '^[0-9]{20}(_.+)?$' AND NOT EXISTS ` +
    `(SELECT 1 FROM salt_returns WHERE salt_returns.jid = jids.jid) ORDER BY jid LIMIT ${rowsMax}))`;
  const jobs = await move(session, "jids", { meant, values, archives });
  return { ...none, jobs: jobs.length, next: jobs.length < rowsMax ? beyond : { phase, after } };
}

/** A step for events, whose ids grow with time: it ends at `databaseLooksMax` ids without an old one. */
async function expireEvents(session: PostgresSession, { after, cut, rowsMax, archives }: Asked): Promise<Step> {
  if (!(await isThere(session, "salt_events"))) return { ...none, next: undefined };
  const sql =
    "SELECT id FROM (SELECT id, alter_time FROM salt_events WHERE id > $1::bigint ORDER BY id " +
    `LIMIT ${databaseLooksMax}) AS looked_at WHERE alter_time < $2::timestamptz ORDER BY id LIMIT ${rowsMax}`;
  const old = (await session.rows(sql, [after, cut.stamp])).map(({ id }) => String(id));
  const last = old.at(-1);
  if (last === undefined) return { ...none, next: undefined };
  const events = await move(session, "salt_events", { meant: "id = ANY($1::bigint[])", values: [old], archives });
  return { ...none, events: events.length, next: { phase: "events", after: last } };
}

/** `sql`: a condition for at most `databaseLooksMax` index entries, with its values. `beyond`: where the step after these goes on. */
type Range = {
  readonly sql: string;
  readonly values: readonly PostgresValue[];
  readonly beyond: Place | undefined;
};

/** The job ids after a place and before `below`. */
async function rangeOf(
  session: PostgresSession,
  table: "jids" | "salt_returns",
  { phase, after }: Place,
  below: string | undefined,
): Promise<Range> {
  const all = below === undefined ? "jid > $1" : "jid > $1 AND jid < $2";
  const values = below === undefined ? [after] : [after, below];
  const sql = `SELECT jid FROM ${table} WHERE ${all} ORDER BY jid LIMIT 1 OFFSET ${databaseLooksMax}`;
  const [bound] = await session.rows(sql, values);
  if (bound === undefined) return { sql: all, values, beyond: followingPhase(phase) };
  const until = String(bound.jid);
  return { sql: "jid > $1 AND jid <= $2", values: [after, until], beyond: { phase, after: until } };
}

type Move = { readonly meant: string; readonly values: readonly PostgresValue[]; readonly archives: boolean };

/** Removes rows, into the archive if they are to be kept. @returns the job id, or the id of the event, of each */
async function move(session: PostgresSession, table: Table, { meant, values, archives }: Move): Promise<string[]> {
  const key = table === "salt_events" ? "id" : "jid";
  // A job that is in the archive already stays there as it is.
  const kept = archives ? `, kept AS (INSERT INTO ${table}_archive SELECT * FROM moved ON CONFLICT DO NOTHING)` : "";
  const sql = `WITH moved AS (DELETE FROM ${table} WHERE ${meant} RETURNING *)${kept} SELECT ${key} AS key FROM moved`;
  return (await session.rows(sql, values)).map((row) => String(row.key));
}
