/** Writes rows of jobs and returns in as few statements as the server's packets allow. */
import { SaltworksError } from "../../errors.ts";
import type { WriteOptions, Written } from "../contract/database.ts";
import type { JobRow, ReturnRow, Row } from "../contract/rows.ts";
import { absentOf, headLength, headOf, presentRow } from "../contract/writer.ts";
import type { MysqlValue } from "./client.ts";
import { inList } from "./in-list.ts";
import type { MysqlSession } from "./session.ts";

/** Rows of one statement. A few fixed numbers, so that few statements are prepared. */
const statementRows = [256, 64, 16, 4, 1];
/** Bytes that a packet needs beside the values: types and lengths. */
const packetRestBytes = 64 * 1024;

/** Bytes of a character of UTF-16 in UTF-8, at most. */
const utf8BytesMax = 3;
const numberBytes = 32;
const tooLarge = "ER_NET_PACKET_TOO_LARGE";
/** A bound counts if it is no more than this part of the room that is left. */
const boundShare = 64;

/** `last`: one more column, as an expression. */
export type Insert = { readonly head: string; readonly tail: string; readonly columns: number; readonly last?: string };

const intoJids: Insert = {
  head: "INSERT INTO `jids` (`jid`, `load`) VALUES ",
  // A job that is there stays as it is, as in Salt.
  tail: " ON DUPLICATE KEY UPDATE `jid` = `jid`",
  columns: 2,
};
/** Writes nothing, and needs the rights and columns that rows need. */
export const emptyWrites: readonly string[] = [
  "INSERT INTO `jids` (`jid`, `load`) SELECT `none`.`jid`, `none`.`load` FROM `jids` AS `none` LIMIT 0 " +
    "ON DUPLICATE KEY UPDATE `jids`.`jid` = `jids`.`jid`",
  "INSERT INTO `salt_returns` (`fun`, `jid`, `return`, `id`, `success`, `full_ret`) " +
    "SELECT `fun`, `jid`, `return`, `id`, `success`, `full_ret` FROM `salt_returns` LIMIT 0",
];

const intoReturns: Insert = {
  head: "INSERT INTO `salt_returns` (`fun`, `jid`, `return`, `id`, `success`, `full_ret`) VALUES ",
  tail: "",
  columns: 6,
};
/** `alter_time` is a timestamp, whose last second is in January 2038. */
const timestampMsMax = (2 ** 31 - 1) * 1_000;
const intoReturnsAt: Insert = {
  head: "INSERT INTO `salt_returns` (`fun`, `jid`, `return`, `id`, `success`, `full_ret`, `alter_time`) VALUES ",
  tail: "",
  columns: 6,
  last: "FROM_UNIXTIME(?)",
};

/** @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
export async function writeRows(session: MysqlSession, rows: readonly Row[], o: WriteOptions): Promise<Written> {
  return await withLargestPackets(session, () => writeAll(session, rows, o));
}

/** Runs `step` again if no packet held a row, and the server has come to take larger packets than this connection knows of. */
export async function withLargestPackets<Result>(session: MysqlSession, step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    const isTooLarge = (error as { detail?: { reason?: string } }).detail?.reason === tooLarge;
    if (!isTooLarge || !(await session.takesLargerPackets())) throw error;
    return await step();
  }
}

/** Writes all rows in one transaction. */
async function writeAll(session: MysqlSession, rows: readonly Row[], o: WriteOptions): Promise<Written> {
  const jobs = rows.filter((row): row is JobRow => row.kind === "job");
  const returns = rows.filter((row): row is ReturnRow => row.kind === "return");
  const bytesMax = await statementBytesMax(session);
  return await session.transaction(async () => {
    const [newJobs, newReturns] = o.mayBePresent
      ? [await absentJobs(session, jobs), await absentReturns(session, returns, o.isOwnOnly === true)]
      : [jobs, returns];
    await insert(
      session,
      intoJids,
      newJobs.map(({ jid, load }) => [jid, load]),
      bytesMax,
    );
    await insert(session, intoReturns, newReturns.filter((row) => timeOf(row) === undefined).map(valuesOf), bytesMax);
    await insert(
      session,
      intoReturnsAt,
      newReturns.flatMap((row) => {
        const seconds = timeOf(row);
        return seconds === undefined ? [] : [[...valuesOf(row), seconds]];
      }),
      bytesMax,
    );
    const added = newJobs.length + newReturns.length;
    return { jobs: newJobs.length, returns: newReturns.length, present: rows.length - added };
  });
}

function valuesOf(row: ReturnRow): MysqlValue[] {
  return [row.fun, row.jid, row.value, row.minionId, row.success, row.whole];
}

/** Seconds since 1970; undefined if the server's clock counts. */
function timeOf({ atMs }: ReturnRow): number | undefined {
  return atMs === undefined || atMs < 1_000 || atMs > timestampMsMax ? undefined : Math.floor(atMs / 1_000);
}

async function absentJobs(session: MysqlSession, jobs: readonly JobRow[]): Promise<readonly JobRow[]> {
  if (jobs.length === 0) return [];
  const { marks, values } = inList(jobs.map(({ jid }) => jid));
  const found = await session.rows(`SELECT \`jid\` FROM \`jids\` WHERE \`jid\` IN (${marks})`, values);
  const present = new Set(found.map(({ jid }) => jid));
  return jobs.filter(({ jid }) => !present.has(jid));
}

/** The returns that the table does not have. */
async function absentReturns(
  session: MysqlSession,
  returns: readonly ReturnRow[],
  isOwnOnly: boolean,
): Promise<readonly ReturnRow[]> {
  if (returns.length === 0) return [];
  const jids = inList(returns.map(({ jid }) => jid));
  const ids = inList(returns.map(({ minionId }) => minionId));
  const head = isOwnOnly ? `, LEFT(\`full_ret\`, ${headLength}) AS \`head\`` : "";
  const sql = `SELECT \`jid\`, \`id\`${head} FROM \`salt_returns\` WHERE \`jid\` IN (${jids.marks}) AND \`id\` IN (${ids.marks})`;
  const found = await session.rows(sql, [...jids.values, ...ids.values]);
  return absentOf(returns, found.map(presentRow), isOwnOnly ? headOf : undefined);
}

/** Bytes that the values of one statement may have. */
export async function statementBytesMax(session: MysqlSession): Promise<number> {
  return (await session.packetBytesMax()) - packetRestBytes;
}

/** @returns the least number that the table can have given to the last row, if it numbers its rows */
export async function insert(
  session: MysqlSession,
  { head, tail, columns, last }: Insert,
  rows: readonly (readonly MysqlValue[])[],
  bytesMax: number,
): Promise<number> {
  const one = `(${[...Array(columns).fill("?"), ...(last === undefined ? [] : [last])].join(", ")})`;
  let lastId = 0;
  for (let at = 0; at < rows.length; ) {
    const count = fitting(rows, at, bytesMax);
    const sql = head + Array(count).fill(one).join(", ") + tail;
    const answer = await session.run(sql, rows.slice(at, at + count).flat());
    if ("insertId" in answer) lastId = answer.insertId + count - 1;
    at += count;
  }
  return lastId;
}

/** How many rows from `at` on go into the next statement. @throws SaltworksError DATABASE_REFUSED for a row that no packet can hold */
function fitting(rows: readonly (readonly MysqlValue[])[], at: number, bytesMax: number): number {
  const [most = 1] = statementRows;
  let [count, bytes] = [0, 0];
  for (const row of rows.slice(at, at + most)) {
    bytes += row.reduce<number>((sum, value) => sum + bytesAtMost(value, bytesMax - bytes), 0);
    if (bytes > bytesMax) break;
    count += 1;
  }
  if (count > 0) return statementRows.find((size) => size <= count) ?? 1;
  throw new SaltworksError("DATABASE_REFUSED", "a row is larger than the server's max_allowed_packet", {
    reason: tooLarge,
    bytes,
    bytesMax,
  });
}

/** Bytes of a value, exact where an upper bound does not fit. Most rows fit by far, and to count the bytes of a text takes as long as to send it. */
function bytesAtMost(value: MysqlValue, room: number): number {
  if (typeof value === "number") return numberBytes;
  const bound = utf8BytesMax * value.length;
  return bound <= room / boundShare ? bound : Buffer.byteLength(value);
}
