/**
 * What pillars and reactions ask of the site's own Python: sources of `ext_pillar`, renderers and functions that this program does not have. A thread
 * without a line to Python only notes that it is needed; its result is dropped, and another thread renders again beside Python.
 */
import { randomUUID } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

/** Asks and waits. @throws SaltworksError */
export type AskPython = (
  question: { readonly kind: string; readonly [member: string]: unknown },
  timeoutMs: number,
) => Value;

/** Whose pillar is made: Salt's own functions get the same. */
export type PythonMinion = {
  readonly id: string;
  readonly grains: ValueMap;
  readonly saltenv: string | undefined;
  readonly pillarenv: string | undefined;
  readonly extra?: ValueMap | undefined;
};

/** A whole file. `text` in place of the file at `path`. `names`: variables for templates. */
export type PythonFile = {
  readonly path: string;
  readonly text?: string;
  readonly environment: string;
  readonly sls: string;
  readonly default: string;
  readonly names: ReadonlyMap<Value, Value>;
  readonly isPillar: boolean;
  readonly pillar: ValueMap | undefined;
  readonly blacklist?: readonly string[];
  readonly whitelist?: readonly string[];
};

export type PythonTimes = { readonly sourceMs: number; readonly renderMs: number };

export class SitePython {
  readonly #sources: ReadonlySet<string>;
  readonly #times: PythonTimes;
  #ask: AskPython | undefined;
  #isNeeded = false;
  #isUsed = false;
  #pillarKey = "";

  /** `sources`: names of external sources that Python serves. */
  constructor(sources: readonly string[], times: PythonTimes) {
    this.#sources = new Set(sources);
    this.#times = times;
  }

  /** Whether every pillar needs Python. */
  get isAlwaysNeeded(): boolean {
    return this.#sources.size > 0;
  }

  /** For the next task. `ask`: undefined if the thread has no line. */
  begin(ask: AskPython | undefined): void {
    this.#ask = ask;
    this.#pillarKey = randomUUID();
    this.#isNeeded = false;
    this.#isUsed = false;
  }

  /** Whether the task asked Python. */
  get wasUsed(): boolean {
    return this.#isUsed;
  }

  /** Whether the task met something for which it had no line. */
  get wasNeeded(): boolean {
    return this.#isNeeded;
  }

  hasSource(name: string): boolean {
    return this.#sources.has(name);
  }

  /** `pillar`: the values that are merged so far. @throws SaltworksError PILLAR_FAILED */
  source(name: string, written: Value, pillar: ValueMap, minion: PythonMinion): Value {
    const question = { kind: "pillar", name, arguments: written, pillar, ...memberOf(minion) };
    return this.#asked(question, this.#times.sourceMs);
  }

  /** @throws SaltworksError PILLAR_FAILED */
  render(file: PythonFile, minion: PythonMinion): Value {
    const { isPillar, names, pillar, text, ...rest } = file;
    const own = {
      is_pillar: isPillar,
      names: namesOf(names),
      ...(pillar && { pillar }),
      ...(text !== undefined && { text }),
    };
    return this.#asked({ kind: "render", ...rest, ...own, ...memberOf(minion) }, this.#times.renderMs);
  }

  /** @throws SaltworksError PILLAR_FAILED */
  call(fun: string, args: readonly Value[], kwargs: ValueMap, minion: PythonMinion): Value {
    return this.#asked({ kind: "function", fun, args, kwargs, ...memberOf(minion) }, this.#times.renderMs);
  }

  #asked(question: Parameters<AskPython>[0], timeoutMs: number): Value {
    if (this.#ask === undefined) {
      this.#isNeeded = true;
      throw new SaltworksError("PILLAR_FAILED", "it needs Python", { kind: "source" });
    }
    this.#isUsed = true;
    try {
      return this.#ask({ ...question, pillar_key: this.#pillarKey }, timeoutMs);
    } catch (error) {
      if (!(error instanceof SaltworksError)) throw error;
      const isFatal = error.code !== "FUNCTION_FAILED" || error.detail.isFatal === true;
      throw new SaltworksError("PILLAR_FAILED", error.message, { kind: "source", isFatal }, { cause: error });
    }
  }
}

function memberOf({ id, grains, saltenv, pillarenv, extra }: PythonMinion): Readonly<Record<string, unknown>> {
  return { id, grains, saltenv: saltenv ?? null, pillarenv: pillarenv ?? null, extra: extra ?? null };
}

/** Keyword arguments have texts as names. */
function namesOf(names: ReadonlyMap<Value, Value>): ValueMap {
  return new Map([...names].filter(([name]) => typeof name === "string"));
}
