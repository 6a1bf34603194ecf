/**
 * Checks of the files that a Salt master writes and this master reads: jobs in `local_cache` layout, and minions' grains, pillars and mines. Salt
 * writes them in place, so a faulty file that changed a moment ago is read again.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { entriesIfThere, readIfThere } from "../../config/files/missing.ts";
import { SaltworksError } from "../../errors.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import {
  anyMinionsFile,
  endTimeFile,
  jidFile,
  jobDirectory,
  jobsDirectory,
  loadFile,
  noCacheFile,
  outFile,
  returnFile,
} from "../salt/job-files.ts";
import { saltKinds } from "../salt/minion-files.ts";
import type { Check, Look, Tally } from "./tally.ts";

/** A file that changed within this time, milliseconds, may be half written. */
const freshMs = 2_000;
const rereadMs = 50;
const headForm = /^[0-9a-f]{2}$/;
const restForm = /^[0-9a-f]{30,126}$/;

type Form = (value: Value) => boolean;
const isMap: Form = (value) => value instanceof Map;
const isList: Form = (value) => Array.isArray(value);
/** A return may be of any type, because Salt before 2018.3 stored the bare value. */
const isAny: Form = () => true;

/** @param hashType the hash of job ids that names the directories */
export function checkSaltJobs(tally: Tally, look: Look, cachedir: string, hashType: string): void {
  const top = jobsDirectory(cachedir);
  const heads = entriesIfThere(top);
  for (const [index, head] of heads.entries()) {
    look.onProgress(top, index / heads.length);
    const folder = join(top, head.name);
    if (!head.isDirectory() || !headForm.test(head.name)) tally.leave(folder);
    else {
      for (const rest of entriesIfThere(folder)) {
        const directory = join(folder, rest.name);
        if (rest.isDirectory() && restForm.test(rest.name)) checkJob(tally, directory, cachedir, hashType);
        else tally.leave(directory);
      }
    }
  }
}

function checkJob(tally: Tally, directory: string, cachedir: string, hashType: string): void {
  for (const entry of entriesIfThere(directory)) {
    const file = join(directory, entry.name);
    if (entry.isDirectory()) checkReturn(tally, file);
    else if (entry.name === jidFile)
      checkJid(tally, file, (jid) => jobDirectory(cachedir, hashType, jid) === directory);
    else if (entry.name === loadFile) checkPacked(tally, file, isMap, "is not a job");
    else if (anyMinionsFile.test(entry.name)) checkPacked(tally, file, isList, "is not a list of minions");
    else if (entry.name !== noCacheFile && entry.name !== endTimeFile) tally.leave(file);
  }
}

function checkReturn(tally: Tally, directory: string): void {
  for (const entry of entriesIfThere(directory)) {
    const file = join(directory, entry.name);
    if (entry.name === returnFile || entry.name === outFile) checkPacked(tally, file, isAny, "");
    else tally.leave(file);
  }
}

/** Checks that the job id belongs to its directory. Otherwise Salt's commands do not find the job. */
function checkJid(tally: Tally, file: string, isOwn: (jid: string) => boolean): void {
  check(tally, file, (bytes) => (isOwn(bytes.toString("utf8")) ? undefined : "names another job than its directory"));
}

/** Checks both layouts of minions' data: a folder per minion (3006, 3007) and a folder per kind (3008). `path`: `cachedir`. */
export const checkSaltMinions: Check = (tally, { path, onProgress }) => {
  const minions = join(path, "minions");
  const folders = entriesIfThere(minions);
  for (const [index, folder] of folders.entries()) {
    onProgress(minions, index / folders.length);
    const place = join(minions, folder.name);
    if (!folder.isDirectory()) tally.leave(place);
    else {
      for (const { name } of entriesIfThere(place)) {
        if (name === "data.p" || name === "mine.p") checkPacked(tally, join(place, name), isMap, "is not a map");
        else tally.leave(join(place, name));
      }
    }
  }
  for (const kind of saltKinds) {
    for (const entry of entriesIfThere(join(path, kind))) {
      const file = join(path, kind, entry.name);
      if (entry.isFile() && entry.name.endsWith(".p")) checkPacked(tally, file, isMap, "is not a map");
      else tally.leave(file);
    }
  }
};

function checkPacked(tally: Tally, file: string, form: Form, wrong: string): void {
  check(tally, file, (bytes) => {
    try {
      return form(decode(bytes)) ? undefined : wrong;
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      return `of ${bytes.byteLength} bytes cannot be decoded: ${error.message}`;
    }
  });
}

function check(tally: Tally, file: string, wrongWith: (bytes: Buffer) => string | undefined): void {
  for (;;) {
    const changedMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    const bytes = readIfThere(file);
    // The file was removed meanwhile.
    if (changedMs === undefined || bytes === undefined) return;
    const wrong = wrongWith(bytes);
    if (wrong === undefined || Math.abs(Date.now() - changedMs) > freshMs) {
      tally.records += 1;
      if (wrong !== undefined) tally.fault(`${file} ${wrong}`);
      return;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, rereadMs);
  }
}

/** Notes the entries of the cache directory that no check reads. `known`: names that a check reads. */
export function leaveRest(tally: Tally, cachedir: string, known: ReadonlySet<string>): void {
  for (const { name } of entriesIfThere(cachedir)) if (!known.has(name)) tally.leave(join(cachedir, name));
}
