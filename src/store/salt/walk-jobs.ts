/**
 * Reads the jobs in Salt's layout one after another, in the order of their directories' paths. It reads each directory by its path, so the hash that
 * named it does not matter. A file that cannot be read is named and left out.
 */
import { readdirSync, readFileSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import { entriesIfThere, namesIn } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { saltFileBytesMax } from "../../limits.ts";
import { textField } from "../../wire/fields.ts";
import { decode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { compareIds } from "../jobs/job-cache.ts";
import type { ImportedJob, ImportedReturn } from "../jobs/job-import.ts";
import {
  anyMinionsFile,
  bodyFromFiles,
  decodeMinions,
  endTimeFile,
  jidFile,
  jobsDirectory,
  loadFile,
  noCacheFile,
  outFile,
  returnFile,
} from "./job-files.ts";

/** What is left out, and why. */
export type OnLeftOut = (what: string, reason: string) => void;
/** A job directory. `job`: undefined if it has no request. `known`: what the request says of each return. `minionIds`: sorted folders of returns. */
export type WalkedJob = {
  readonly jid: string;
  readonly job: ImportedJob | undefined;
  readonly known: ReadonlyMap<string, Value>;
  readonly end: string | undefined;
  readonly minionIds: readonly string[];
};

/** Errors of this process and not of a file. */
const passingFaults = ["EMFILE", "ENFILE", "ENOMEM"] as const;

export class SaltJobWalk {
  readonly #top: string;

  constructor(cachedir: string) {
    this.#top = jobsDirectory(cachedir);
  }

  get place(): string {
    return this.#top;
  }

  /** @throws SaltworksError STORE_FAILED if there is no such directory, or it cannot be read */
  check(): void {
    try {
      readdirSync(this.#top);
    } catch (error) {
      throw new SaltworksError("STORE_FAILED", `${this.#top} cannot be read: ${(error as Error).message}`);
    }
  }

  jobCount(): number {
    return this.#heads().reduce((sum, head) => sum + this.#rests(head, () => undefined).length, 0);
  }

  /** The paths of job directories in their order, `from` and those after it. */
  *paths(from: string | undefined, onLeftOut: OnLeftOut): Generator<string> {
    const [fromHead = "", fromRest = ""] = from?.split("/") ?? [];
    for (const head of this.#heads()) {
      if (head < fromHead) continue;
      for (const rest of this.#rests(head, onLeftOut)) {
        if (head > fromHead || rest >= fromRest) yield `${head}/${rest}`;
      }
    }
  }

  /** Returns stay readable without their request. @returns undefined for a directory without a job, which is left out */
  job(path: string, onLeftOut: OnLeftOut): WalkedJob | undefined {
    const directory = join(this.#top, path);
    const entries = reading(directory, onLeftOut, () => entriesIfThere(directory)) ?? [];
    // A killed master may leave an empty directory.
    if (entries.length === 0) return undefined;
    const loadPath = join(directory, loadFile);
    const load = reading(loadPath, onLeftOut, () => loadIn(loadPath));
    const jid = textOf(load?.fields, "jid") ?? this.#text(directory, jidFile, onLeftOut);
    if (jid === undefined || jid === "") {
      onLeftOut(directory, "neither .load.p nor jid names the job");
      return undefined;
    }
    const names = entries.map(({ name }) => name);
    return {
      jid,
      job: load && {
        ...{ jid, load: load.bytes, minions: minionsIn(directory, names, onLeftOut) },
        ...(names.includes(noCacheFile) ? { isNoCache: true } : {}),
      },
      known: knownOf(load?.fields),
      end: names.includes(endTimeFile) ? this.#text(directory, endTimeFile, onLeftOut) : undefined,
      minionIds: entries
        .filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
        .map(({ name }) => name)
        .sort(compareIds),
    };
  }

  /** @returns undefined for a minion without a return, or whose return is left out */
  returnOf(
    path: string,
    { jid, known }: WalkedJob,
    minionId: string,
    onLeftOut: OnLeftOut,
  ): ImportedReturn | undefined {
    const folder = join(this.#top, path, minionId);
    const file = join(folder, returnFile);
    return reading(file, onLeftOut, () => {
      const returned = wholeFile(file);
      if (returned === undefined) return undefined;
      const out = wholeFile(join(folder, outFile))?.bytes;
      const body = bodyFromFiles(jid, minionId, { returned: returned.bytes, out }, known);
      return { jid, minionId, body, atMs: returned.stat.mtimeMs };
    });
  }

  #heads(): readonly string[] {
    return namesIn(this.#top)
      .filter((name) => !name.startsWith("."))
      .sort();
  }

  #rests(head: string, onLeftOut: OnLeftOut): readonly string[] {
    const folder = join(this.#top, head);
    const names = reading(folder, onLeftOut, () => namesIn(folder)) ?? [];
    return names.filter((name) => !name.startsWith(".")).sort();
  }

  #text(directory: string, name: string, onLeftOut: OnLeftOut): string | undefined {
    const file = join(directory, name);
    return reading(file, onLeftOut, () => wholeFile(file)?.bytes.toString("utf8").trim());
  }
}

type Whole = { readonly bytes: Buffer; readonly stat: Stats };

/** @returns undefined if there is no such file. @throws SaltworksError WIRE_TOO_LARGE, WIRE_MALFORMED, and errors of the file system */
function wholeFile(file: string): Whole | undefined {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  // A read of a pipe would wait for its writer.
  if (!stat.isFile()) throw new SaltworksError("WIRE_MALFORMED", "it is not a file");
  if (stat.size > saltFileBytesMax) throw new SaltworksError("WIRE_TOO_LARGE", `over ${saltFileBytesMax} bytes`);
  return { bytes: readFileSync(file), stat };
}

type Load = { readonly bytes: Buffer; readonly fields: ValueMap };

function loadIn(file: string): Load | undefined {
  const bytes = wholeFile(file)?.bytes;
  if (bytes === undefined) return undefined;
  const fields = decode(bytes);
  if (!(fields instanceof Map)) throw new SaltworksError("WIRE_MALFORMED", "it is not a job's request");
  return { bytes, fields };
}

function textOf(fields: ValueMap | undefined, name: string): string | undefined {
  return fields === undefined ? undefined : textField(fields, name);
}

/** What Salt's `return.p` does not have. The names in a return are not those in a request. */
function knownOf(load: ValueMap | undefined): ReadonlyMap<string, Value> {
  const members = [
    ["fun", "fun"],
    ["fun_args", "arg"],
    ["user", "user"],
  ] as const;
  return new Map(
    members.flatMap(([name, inLoad]) => {
      const value = load?.get(inLoad);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}

function minionsIn(directory: string, names: readonly string[], onLeftOut: OnLeftOut): string[] {
  const all = names
    .filter((name) => anyMinionsFile.test(name))
    .flatMap((name) => {
      const file = join(directory, name);
      return reading(file, onLeftOut, () => decodeMinions(wholeFile(file)?.bytes ?? Buffer.of(0x90))) ?? [];
    });
  return [...new Set(all)];
}

/** Runs a step on a file. What is damaged, or cannot be read, is left out. @throws errors of `passingFaults` */
function reading<Result>(file: string, onLeftOut: OnLeftOut, step: () => Result): Result | undefined {
  try {
    return step();
  } catch (error) {
    if (hasCodeIn(error, ...passingFaults)) throw error;
    if (!isOfFile(error)) throw error;
    onLeftOut(file, (error as Error).message);
    return undefined;
  }
}

const wireFaults = ["WIRE_TRUNCATED", "WIRE_MALFORMED", "WIRE_TOO_LARGE", "WIRE_TOO_DEEP"] as const;

function isOfFile(error: unknown): boolean {
  return error instanceof Error && ("syscall" in error || wireFaults.some((code) => hasCode(error, code)));
}
