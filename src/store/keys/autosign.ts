/**
 * Which new minions are accepted or rejected without an operator: lists of ids, globs and patterns, single-use files, grains.
 * Source: docs/protocol.md section 3.3, point 3. Files are read again when they change.
 */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { RE2JS } from "re2js";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { Float, type Value, type ValueMap } from "../../wire/values.ts";
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

export interface Autosign {
  isAutoSigned(id: string, autosignGrains?: ValueMap): boolean;
  /** The key is where it belongs: the file in `minions_autosign` goes, if the last answer came from one. */
  noteDecided(): void;
  isAutoRejected(id: string): boolean;
}

/** A line that a hostile id cannot make slow: RE2 matches in linear time. */
function patternOf(line: string): RE2JS | undefined {
  try {
    return RE2JS.compile(line.replaceAll("\\Z", "\\z"));
  } catch {
    // Most lines are plain ids or globs, which need not be patterns.
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

/** Python's `str` of a grain that can stand on a line. */
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

  /** A file that was good for one answer, or is too old. */
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

  isAutoSigned(id: string, autosignGrains?: ValueMap): boolean {
    this.#usedFile = undefined;
    if (this.#rules.auto_accept) return true;
    return this.#isListed(id, this.#rules.autosign_file) || this.#hasFile(id) || this.#hasGrain(autosignGrains);
  }

  #isListed(id: string, file: string | null): boolean {
    if (file === null || file === "") return false;
    return this.#linesOf(file).some(
      ({ text, glob, pattern }) => text === id || glob?.matches(id) === true || pattern?.matches(id) === true,
    );
  }

  /** Lines without comments; none if others may write the file. */
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

  /** A file named like the id, made for this once, not older than `autosign_timeout`. */
  #hasFile(id: string): boolean {
    if (!idIsValid(id)) return false;
    const file = join(this.#rules.pki_dir, autosignFolder, id);
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) return false;
    this.#usedFile = file;
    const { autosign_timeout: timeoutMinutes } = this.#rules;
    return timeoutMinutes <= 0 || Date.now() - stat.mtimeMs <= timeoutMinutes * msPerMinute;
  }

  #hasGrain(grains: ValueMap | undefined): boolean {
    const directory = this.#rules.autosign_grains_dir;
    if (grains === undefined || directory === null || directory === "") return false;
    return namesIn(directory).some((name) => {
      const value = grainText(grains.get(name));
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
