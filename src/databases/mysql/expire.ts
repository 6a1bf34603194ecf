/**
 * Removes old rows as Salt's `clean_old_jobs` does, a few at a time: returns and events by `alter_time`, and the jobs of these returns. Salt's tables
 * have no index on `alter_time`, so that rows are looked up by job id, which is a time that is never after the return's.
 */
import { databaseLooksMax } from "../../limits.ts";
import { isJid, jidAt } from "../../wire/jid.ts";
import { checkClock } from "../contract/clock.ts";
import type { Expired, ExpiryStep } from "../contract/database.ts";
import { followingPhase, type Phase, type Place, placeIn, textOf } from "../sql/expiry-phases.ts";
import type { MysqlRow, MysqlValue } from "./client.ts";
import { inList } from "./in-list.ts";
import type { MysqlSession } from "./session.ts";

/** `stamp`: rows whose `alter_time` is before it are old. `jid`: no older row has a job id after it that is a time. */
type Cut = { readonly stamp: string; readonly jid: string };
type Counts = { readonly jobs: number; readonly returns: number; readonly events: number };
type Step = Counts & { readonly next: Place | undefined };
type Asked = ExpiryStep & { readonly after: string; readonly cut: Cut };

const none: Counts = { jobs: 0, returns: 0, events: 0 };
const eventColumns = "`tag`, `data`, `alter_time`, `master_id`";

/** @throws SaltworksError DATABASE_FAILED */
export async function expireRows(session: MysqlSession, o: ExpiryStep): Promise<Expired> {
  const cut = await cutOf(session, o.keepSeconds);
  const { phase, after } = placeIn(o.after);
  const asked = { ...o, after, cut };
  if (o.after === undefined && o.archives) await makeArchives(session);
  const { next, ...counts } = await steps[phase](session, asked);
  return { ...counts, next: next === undefined ? undefined : textOf(next) };
}

const steps: Readonly<Record<Phase, (session: MysqlSession, o: Asked) => Promise<Step>>> = {
  returns: (session, o) => expireReturns(session, o, "returns", o.cut.jid),
  named: (session, o) => expireReturns(session, o, "named", undefined),
  jobs: expireJobs,
  events: expireEvents,
};

async function cutOf(session: MysqlSession, keepSeconds: number): Promise<Cut> {
  const sql = "SELECT NOW() - INTERVAL ? SECOND AS stamp, UNIX_TIMESTAMP() AS seconds";
  const [row] = await session.rows(sql, [keepSeconds]);
  const nowMs = Number(row?.seconds) * 1_000;
  checkClock(session.place, nowMs);
  return { stamp: String(row?.stamp), jid: jidAt(Math.max(0, nowMs - keepSeconds * 1_000), 0) };
}

/** `salt_events` may be missing, as in a database where no program writes events. */
async function makeArchives(session: MysqlSession): Promise<void> {
  for (const table of ["jids", "salt_returns"]) await makeArchive(session, table);
  await unlessMissing(makeArchive(session, "salt_events"), undefined);
}

async function makeArchive(session: MysqlSession, table: string): Promise<void> {
  await session.run(`CREATE TABLE IF NOT EXISTS \`${table}_archive\` LIKE \`${table}\``, []);
}

/**
 * A step for returns of the jobs after `o.after` and before `below`. The jobs in a step are complete, except for a job with more returns than fit into
 * a step.
 */
async function expireReturns(session: MysqlSession, o: Asked, phase: Phase, below: string | undefined): Promise<Step> {
  const { after, rowsMax, cut } = o;
  const until = await boundOf(session, "salt_returns", after, below);
  const range = rangeOf(after, until ?? (below === undefined ? undefined : { jid: below, isWithin: false }));
  const sql = `SELECT \`jid\`, \`id\` FROM \`salt_returns\` WHERE ${range.sql} AND \`alter_time\` < ? ORDER BY \`jid\` LIMIT ${rowsMax}`;
  const rows = await session.rows(sql, [...range.values, cut.stamp]);
  const isFull = rows.length === rowsMax;
  const beyond = until === undefined ? followingPhase(phase) : { phase, after: until.jid };
  if (rows.length === 0) return { ...none, next: beyond };
  const lastJid = String(rows.at(-1)?.jid);
  const complete = jidsOf(isFull ? rows.filter(({ jid }) => jid !== lastJid) : rows);
  const [lastComplete] = complete.slice(-1);
  if (lastComplete === undefined) {
    const ids = [...new Set(rows.map(({ id }) => String(id)))];
    return { ...(await removeReturns(session, o, [lastJid], ids)), next: { phase, after } };
  }
  const removed = await removeReturns(session, o, complete, undefined);
  return { ...removed, next: isFull ? { phase, after: lastComplete } : beyond };
}

function jidsOf(rows: readonly MysqlRow[]): string[] {
  return [...new Set(rows.map(({ jid }) => String(jid)))];
}

/** Removes the old returns of jobs, or only those of the minions `ids`, and the jobs. As in Salt a job leaves with its first return. */
async function removeReturns(
  session: MysqlSession,
  { archives, cut }: Asked,
  jids: readonly string[],
  ids: readonly string[] | undefined,
): Promise<Counts> {
  const inJobs = inList(jids);
  const inMinions = inList(ids ?? []);
  const jobsMeant = `\`jid\` IN (${inJobs.marks})`;
  const meant = `${jobsMeant}${ids === undefined ? "" : ` AND \`id\` IN (${inMinions.marks})`} AND \`alter_time\` < ?`;
  const values: MysqlValue[] = [...inJobs.values, ...inMinions.values, cut.stamp];
  return await session.transaction(async () => {
    if (archives) {
      await archiveJobs(session, jobsMeant, inJobs.values);
      await session.run(`INSERT INTO \`salt_returns_archive\` SELECT * FROM \`salt_returns\` WHERE ${meant}`, values);
    }
    const jobs = await remove(session, "jids", jobsMeant, inJobs.values);
    return { jobs, returns: await remove(session, "salt_returns", meant, values), events: 0 };
  });
}

/** A job that is in the archive already stays there as it is. */
async function archiveJobs(session: MysqlSession, meant: string, values: readonly MysqlValue[]): Promise<void> {
  const sql = `INSERT INTO \`jids_archive\` SELECT * FROM \`jids\` WHERE ${meant} ON DUPLICATE KEY UPDATE \`jid\` = \`jids_archive\`.\`jid\``;
  await session.run(sql, values);
}

/** A step for jobs without a return, by the time in their ids. */
async function expireJobs(session: MysqlSession, { after, rowsMax, archives, cut }: Asked): Promise<Step> {
  const until = await boundOf(session, "jids", after, cut.jid);
  const range = rangeOf(after, until ?? { jid: cut.jid, isWithin: false });
  const sql =
    `SELECT \`jid\` FROM \`jids\` WHERE ${range.sql} AND NOT EXISTS ` +
    `(SELECT 1 FROM \`salt_returns\` WHERE \`salt_returns\`.\`jid\` = \`jids\`.\`jid\`) ORDER BY \`jid\` LIMIT ${rowsMax}`;
  const rows = await session.rows(sql, range.values);
  const beyond = until === undefined ? followingPhase("jobs") : { phase: "jobs" as const, after: until.jid };
  const next = rows.length === rowsMax ? { phase: "jobs" as const, after: String(rows.at(-1)?.jid) } : beyond;
  const { marks, values } = inList(jidsOf(rows).filter(isJid));
  if (values.length === 0) return { ...none, next };
  const meant = `\`jid\` IN (${marks})`;
  const jobs = await session.transaction(async () => {
    if (archives) await archiveJobs(session, meant, values);
    return await remove(session, "jids", meant, values);
  });
  return { ...none, jobs, next };
}

/** A step for events, whose ids grow with time: it ends at `databaseLooksMax` ids without an old one. */
async function expireEvents(session: MysqlSession, { after, rowsMax, archives, cut }: Asked): Promise<Step> {
  const sql =
    "SELECT `id` FROM (SELECT `id`, `alter_time` FROM `salt_events` WHERE `id` > ? ORDER BY `id` " +
    `LIMIT ${databaseLooksMax}) AS looked_at WHERE \`alter_time\` < ? ORDER BY \`id\` LIMIT ${rowsMax}`;
  const old = (await unlessMissing(session.rows(sql, [after, cut.stamp]), [])).map(({ id }) => String(id));
  const last = old.at(-1);
  if (last === undefined) return { ...none, next: undefined };
  const { marks, values } = inList(old);
  const meant = `\`id\` IN (${marks})`;
  const events = await session.transaction(async () => {
    if (archives) await archiveEvents(session, meant, values);
    return await remove(session, "salt_events", meant, values);
  });
  return { ...none, events, next: { phase: "events", after: last } };
}

/** A server that counts ids anew after a restart gives ids that the archive has. Then the archive gives others. */
async function archiveEvents(session: MysqlSession, meant: string, values: readonly MysqlValue[]): Promise<void> {
  const [taken] = await session.rows(`SELECT 1 FROM \`salt_events_archive\` WHERE ${meant} LIMIT 1`, values);
  const sql =
    taken === undefined
      ? `INSERT INTO \`salt_events_archive\` SELECT * FROM \`salt_events\` WHERE ${meant}`
      : `INSERT INTO \`salt_events_archive\` (${eventColumns}) SELECT ${eventColumns} FROM \`salt_events\` WHERE ${meant}`;
  await session.run(sql, values);
}

async function remove(
  session: MysqlSession,
  table: string,
  meant: string,
  values: readonly MysqlValue[],
): Promise<number> {
  const answer = await session.run(`DELETE FROM \`${table}\` WHERE ${meant}`, values);
  return "affectedRows" in answer ? answer.affectedRows : 0;
}

type Bound = { readonly jid: string; readonly isWithin: boolean };

/** The job id that is `databaseLooksMax` index entries after `after`; undefined if the range has fewer. */
async function boundOf(
  session: MysqlSession,
  table: string,
  after: string,
  below: string | undefined,
): Promise<Bound | undefined> {
  const range = rangeOf(after, below === undefined ? undefined : { jid: below, isWithin: false });
  const sql = `SELECT \`jid\` FROM \`${table}\` WHERE ${range.sql} ORDER BY \`jid\` LIMIT 1 OFFSET ${databaseLooksMax}`;
  const [row] = await session.rows(sql, range.values);
  return row === undefined ? undefined : { jid: String(row.jid), isWithin: true };
}

function rangeOf(
  after: string,
  bound: Bound | undefined,
): { readonly sql: string; readonly values: readonly MysqlValue[] } {
  if (bound === undefined) return { sql: "`jid` > ?", values: [after] };
  return { sql: `\`jid\` > ? AND \`jid\` ${bound.isWithin ? "<=" : "<"} ?`, values: [after, bound.jid] };
}

async function unlessMissing<Result>(step: Promise<Result>, otherwise: Result): Promise<Result> {
  try {
    return await step;
  } catch (error) {
    if ((error as { detail?: { reason?: unknown } }).detail?.reason === "ER_NO_SUCH_TABLE") return otherwise;
    throw error;
  }
}
