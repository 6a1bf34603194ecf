/**
 * Decides which new minions are accepted or rejected without an operator: by lists of ids, globs and patterns, by single-use files, by grains.
 * Source: docs/protocol.md section 3.3, point 3. Files are read again when they change.
 */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { RE2JS } from "re2js";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { Float, type Value } from "../../wire/values.ts";
import { autosignFolder, idIsValid } from "./states.ts";

const othersMayWrite = 0o002;
const groupMayWrite = 0o020;
const msPerMinute = 60_000;

type Rules = Pick<
  MasterConfig,
  | "auto_accept"
  | "autosign_file"
  | "autoreject_file"
  | "autosign_grains_dir"
  | "autosign_timeout"
  | "permissive_pki_access"
  | "pki_dir"
>;

/** A grain that a new minion sends with its key; undefined if it sends none by that name. */
export type GrainOf = (name: string) => Value | undefined;

export interface Autosign {
  /** `grainOf` is asked only for the names in `autosign_grains_dir`, after all other rules. */
  isAutoSigned(id: string, grainOf?: GrainOf): boolean;
  /** Called once the key is stored: removes the file in `minions_autosign` if the last answer came from it. */
  noteDecided(): void;
  isAutoRejected(id: string): boolean;
}

/** The line as a pattern. RE2 matches in linear time, so a hostile id cannot make it slow. */
function patternOf(line: string): RE2JS | undefined {
  try {
    return RE2JS.compile(line.replaceAll("\\Z", "\\z"));
  } catch {
    // Most lines are ids or globs, which may be invalid as patterns.
    return undefined;
  }
}

/** A glob of Python's fnmatch as a pattern of RE2. */
function globPattern(glob: string): string {
  return glob.replace(/\[!?\]?[^\]]*\]|[\s\S]/g, (part) => {
    if (part === "*") return "(?s:.*)";
    if (part === "?") return "(?s:.)";
    if (part.length > 1) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return RE2JS.quote(part);
  });
}

type Line = { readonly text: string; readonly glob: RE2JS | undefined; readonly pattern: RE2JS | undefined };

function parseLine(text: string): Line {
  return { text, glob: patternOf(globPattern(text)), pattern: patternOf(text) };
}

/** Python's `str` of a grain; undefined for lists, maps and bytes, which no line can match. */
function grainText(value: Value | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value === null) return "None";
  if (value instanceof Float) return Number.isInteger(value.value) ? `${value.value}.0` : String(value.value);
  return typeof value === "number" || typeof value === "bigint" ? String(value) : undefined;
}

class FileAutosign implements Autosign {
  readonly #rules: Rules;
  readonly #files = new Map<string, { readonly mtimeMs: number; readonly lines: readonly Line[] }>();

  /** The single-use file of the last answer, or one that is too old. `noteDecided` removes it. */
  #usedFile: string | undefined;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  noteDecided(): void {
    if (this.#usedFile !== undefined) rmSync(this.#usedFile, { force: true });
    this.#usedFile = undefined;
  }

  isAutoRejected(id: string): boolean {
    return this.#isListed(id, this.#rules.autoreject_file);
  }

  isAutoSigned(id: string, grainOf?: GrainOf): boolean {
    this.#usedFile = undefined;
    if (this.#rules.auto_accept) return true;
    return this.#isListed(id, this.#rules.autosign_file) || this.#hasFile(id) || this.#hasGrain(grainOf);
  }

  #isListed(id: string, file: string | null): boolean {
    if (file === null || file === "") return false;
    return this.#linesOf(file).some(
      ({ text, glob, pattern }) => text === id || glob?.matches(id) === true || pattern?.matches(id) === true,
    );
  }

  /** The file's lines without comments. None if other users may write the file. */
  #linesOf(file: string): readonly Line[] {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile() || !this.#isSafe(stat.mode, stat.gid)) return [];
    const known = this.#files.get(file);
    if (known?.mtimeMs === stat.mtimeMs) return known.lines;
    const texts = readFileSync(file, "utf8")
      .split(/\r?\n/)
      .map((line) => line.trim());
    const lines = texts.filter((line) => line !== "" && !line.startsWith("#")).map(parseLine);
    this.#files.set(file, { mtimeMs: stat.mtimeMs, lines });
    return lines;
  }

  #isSafe(mode: number, gid: number): boolean {
    if ((mode & othersMayWrite) !== 0) return false;
    if ((mode & groupMayWrite) === 0) return true;
    if (!this.#rules.permissive_pki_access) return false;
    return process.getuid?.() !== 0 || (process.getgroups?.() ?? []).includes(gid);
  }

  /** Whether the id has a single-use file that is not older than `autosign_timeout`. */
  #hasFile(id: string): boolean {
    if (!idIsValid(id)) return false;
    const file = join(this.#rules.pki_dir, autosignFolder, id);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return false;
    this.#usedFile = file;
    const { autosign_timeout: timeoutMinutes } = this.#rules;
    return timeoutMinutes <= 0 || Date.now() - stat.mtimeMs <= timeoutMinutes * msPerMinute;
  }

  #hasGrain(grainOf: GrainOf | undefined): boolean {
    const directory = this.#rules.autosign_grains_dir;
    if (grainOf === undefined || directory === null || directory === "") return false;
    return namesIn(directory).some((name) => {
      const value = grainText(grainOf(name));
      return value !== undefined && this.#linesOf(join(directory, name)).some(({ text }) => text === value);
    });
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCodeIn(error, "ENOENT")) return [];
    throw error;
  }
}

export function openAutosign(config: Rules): Autosign {
  return new FileAutosign(config);
}
