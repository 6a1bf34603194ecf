/** Checks of what stands in LMDB files and in the logs beside: every page, and every record by its hash and its form. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { readIfThere } from "../../config/files/missing.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { isJid } from "../../wire/jid.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import { openValue } from "../disk/checked-value.ts";
import { indexedVersion, readLayout, shardFile } from "../drivers/lmdb/layout.ts";
import { openMarks } from "../jobs/pending-jobs.ts";
import { closeEnvironment, openEnvironment, wasNeverWritten } from "../lmdb/env.ts";
import { type OnRecord, readHead, walkFile } from "../lmdb/walk.ts";
import { listLogs, rescueFile } from "../log/files.ts";
import type { SecretBox } from "../secrets/sealed.ts";
import { IndexCheck } from "./index-check.ts";
import type { Check, Look, Tally } from "./tally.ts";

/** What a record must be, by table. @returns what is wrong with it */
type Form = (value: Buffer, key: Buffer) => string | undefined;

export const checkJobs: Check = (tally, look) => {
  const layout = readLayout(look.path);
  if (layout === undefined) {
    const isMade = existsSync(look.path) && readdirSync(look.path).some((name) => name.endsWith(".mdb"));
    if (isMade)
      tally.fault(`${join(look.path, "layout.json")} is missing: the master takes the job cache for a new one`);
    return;
  }
  for (let shard = 0; shard < layout.shards; shard += 1) {
    const file = shardFile(look.path, shard);
    if (!existsSync(file)) tally.fault(`${file} is missing`);
    // The layout is written when all files have been.
    else {
      const index = layout.version >= indexedVersion ? new IndexCheck() : undefined;
      const forms = { returns: hashed(asMap), loads: hashed(asMap), ends: hashed(asEnd) };
      const areAllRead = checkFile(tally, look, file, forms, {
        mayBeEmpty: false,
        onRecord: (table, key, value) => index?.take(table, key, value),
      });
      if (areAllRead) for (const fault of index?.faults() ?? []) tally.fault(`${file}: ${fault}`);
    }
  }
};

/** Logs of a running master change while they are read: only those of writers that are gone tell what is damaged. */
export const checkJobLogs: Check = (tally, look) => {
  if (!existsSync(look.path)) return;
  for (const log of listLogs(look.path)) {
    const bytes = readIfThere(log);
    if (bytes === undefined) continue;
    const { entries, fault } = rescueFile(log, bytes);
    tally.records += entries.length;
    if (fault !== undefined && !look.isRunning) tally.fault(`${log} ${fault}`);
  }
};

/** @param box opens sessions; without it their bytes are not looked at */
export function checkMinionData(tally: Tally, look: Look, box: SecretBox | undefined): void {
  const file = join(look.path, "data.mdb");
  if (!existsSync(file)) return;
  checkFile(tally, look, file, {
    facts: hashed((bytes) =>
      bytes.byteLength >= 4 && bytes.readUInt32BE(0) <= bytes.byteLength - 4 ? undefined : "is cut",
    ),
    mines: hashed(asMap),
    sessions: hashed((bytes, key) =>
      box === undefined || opens(box, key, bytes)
        ? undefined
        : "does not open under this master's key: it authenticates again",
    ),
  });
}

export const checkPendingJobs: Check = (tally, look) => {
  const file = join(look.path, "data.mdb");
  if (!existsSync(file)) return;
  /** How many minions each job was for. They stand before the marks. */
  const counts = new Map<string, number>();
  checkFile(tally, look, file, {
    jobs: hashed((bytes, key) => {
      const wrong = asMap(bytes, key);
      const minions = wrong === undefined ? (decode(bytes) as ValueMap).get("minions") : undefined;
      if (Array.isArray(minions)) counts.set(key.toString("latin1"), minions.length);
      return wrong;
    }),
    marks: (value, key) => {
      const count = counts.get(key.toString("latin1"));
      return count === undefined || openMarks(key, value, count) !== undefined ? undefined : notStored;
    },
  });
};

/** `path`: the directory. Its records are places and names: a damaged one is left out of Salt's files, and its pages are what matters. */
export const checkSaltFeed: Check = (tally, look) => {
  const file = join(look.path, "feed.mdb");
  if (existsSync(file)) checkFile(tally, look, file, { returns: undefined, minions: undefined });
};

const notStored = "is not what was stored";

function hashed(form: Form): Form {
  return (value, key) => {
    const bytes = openValue(key, value);
    return bytes === undefined ? notStored : form(bytes, key);
  };
}

const asEnd: Form = (bytes) => (isJid(bytes.toString("latin1")) ? undefined : notStored);

const asMap: Form = (bytes) => {
  try {
    return decode(bytes) instanceof Map ? undefined : "is not a map";
  } catch (error) {
    if (error instanceof SaltworksError) return "cannot be decoded";
    throw error;
  }
};

function opens(box: SecretBox, key: Buffer, sealed: Buffer): boolean {
  try {
    box.open(`session/${key.toString("utf8")}`, sealed);
    return true;
  } catch (error) {
    if (hasCode(error, "STORE_SEAL_BROKEN")) return false;
    throw error;
  }
}

type FileOptions = {
  /** A running master makes the file at this moment, or one that ended at once had made it. */
  readonly mayBeEmpty?: boolean;
  readonly onRecord?: OnRecord;
};

/** @param forms of tables whose records count; undefined: they have no form. @returns whether all pages could be read */
function checkFile(
  tally: Tally,
  look: Look,
  file: string,
  forms: Readonly<Record<string, Form | undefined>>,
  { mayBeEmpty, onRecord }: FileOptions = {},
): boolean {
  const head = readHead(file);
  if (head === undefined) {
    if (!(mayBeEmpty ?? (look.isRunning || wasNeverWritten(file))))
      tally.fault(`${file} is empty: what was stored there is gone`);
    return false;
  }
  if (head.metas.length === 0) {
    tally.fault(`${file} is not an LMDB file, or its head is damaged: nothing in it can be read`);
    return false;
  }
  // A master that writes would use pages again that we are about to read.
  const release = look.isRunning ? holdPages(file) : () => undefined;
  try {
    const walked = walkFile(file, {
      onProgress: (done, of) => look.onProgress(file, of === 0 ? 1 : done / of),
      onRecord: (name, key, value) => {
        const table = name.replace(/\0$/, "");
        onRecord?.(table, key, value);
        const form = forms[table];
        if (table in forms) tally.records += 1;
        if (form === undefined) return;
        const wrong = form(value, key);
        if (wrong !== undefined) tally.fault(`${file}: ${nameOf(table, key)} ${wrong}`);
      },
    });
    for (const fault of walked.faults) tally.fault(`${file}: ${fault}`);
    tally.faultCount += walked.faultCount - walked.faults.length;
    return walked.faultCount === 0;
  } finally {
    release();
  }
}

/** LMDB does not reuse a page while our read transaction lasts. */
function holdPages(file: string): () => void {
  const environment = openEnvironment({ file, isReadOnly: true, isSyncedOnCommit: true });
  const transaction = environment.useReadTransaction();
  return () => {
    transaction.done();
    void closeEnvironment(environment);
  };
}

function nameOf(table: string, key: Buffer): string {
  const [first = "", ...rest] = key.toString("utf8").split("\0");
  if (table === "returns") return `the return of ${rest.at(-1) ?? "?"} for job ${first.slice(1)}`;
  if (table === "loads") return `the record of job ${first.slice(1)}`;
  if (table === "ends") return `the end of job ${first.slice(1)}`;
  if (table === "marks") return `what became of the pending job ${first}, by minion,`;
  if (table === "jobs") return `the pending job ${first}`;
  return `${table} of ${first}`;
}
