/** Checks of LMDB files: every page, and every record by its hash and its form. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { hasCode, SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { ValueMap } from "../../wire/values.ts";
import { openValue } from "../disk/checked-value.ts";
import { openMarks } from "../jobs/pending-jobs.ts";
import { closeEnvironment, openEnvironment, wasNeverWritten } from "../lmdb/env.ts";
import { type OnRecord, readHead, walkFile } from "../lmdb/walk.ts";
import type { SecretBox } from "../secrets/sealed.ts";
import type { Check, Look, Tally } from "./tally.ts";

/** Checks the form of a table's record. @returns the fault, or undefined */
export type Form = (value: Buffer, key: Buffer) => string | undefined;

/** @param box opens sessions; without it their contents are not checked */
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
        : "does not open under this master's key: the minion authenticates again",
    ),
  });
}

export const checkPendingJobs: Check = (tally, look) => {
  const file = join(look.path, "data.mdb");
  if (!existsSync(file)) return;
  /** The number of minions of each job. The walk reads the table of jobs before that of marks. */
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

/** Checks the queue for Salt's files in the directory `path`: its pages only. A damaged record is merely left out of Salt's files. */
export const checkMirrorQueue: Check = (tally, look) => {
  const file = join(look.path, "feed.mdb");
  if (existsSync(file)) checkFile(tally, look, file, { returns: undefined, minions: undefined });
};

export const notStored = "is not what was stored";

/** The form of a record with a hash of itself. */
export function hashed(form: Form): Form {
  return (value, key) => {
    const bytes = openValue(key, value);
    return bytes === undefined ? notStored : form(bytes, key);
  };
}

export const asMap: Form = (bytes) => {
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
  /** The file may be empty: a running master is making it, or a master ended as it made it. */
  readonly mayBeEmpty?: boolean;
  readonly onRecord?: OnRecord;
  /** The record of a table, for messages. */
  readonly nameOf?: (table: string, key: Buffer) => string;
};

/** @param forms by table whose records count; undefined: any form is right. @returns whether all pages could be read */
export function checkFile(
  tally: Tally,
  look: Look,
  file: string,
  forms: Readonly<Record<string, Form | undefined>>,
  { mayBeEmpty, onRecord, nameOf = usualName }: FileOptions = {},
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
  // A master that writes would otherwise reuse pages before they are read here.
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

/** Opens a read transaction, during which LMDB reuses no page. @returns ends it */
function holdPages(file: string): () => void {
  const environment = openEnvironment({ file, isReadOnly: true, isSyncedOnCommit: true });
  const transaction = environment.useReadTransaction();
  return () => {
    transaction.done();
    void closeEnvironment(environment);
  };
}

function usualName(table: string, key: Buffer): string {
  const [first = ""] = key.toString("utf8").split("\0");
  if (table === "marks") return `what became of the pending job ${first}, by minion,`;
  if (table === "jobs") return `the pending job ${first}`;
  return `${table} of ${first}`;
}
