/**
 * Runs low chunks in their order, each after the states that it requires. Source: Salt 3007's runtime, recorded in test/golden/states.
 * Numbers (`__run_num__`) and places of results are those of Salt, also where a trial for `prereq` takes a number.
 */
import { parallelStatesMax } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { isTrue } from "../../python/values.ts";
import type { Value } from "../../wire/values.ts";
import type { HighData, LowChunk } from "../compile/contract.ts";
import { lowState } from "../compile/low-chunks.ts";
import { argumentsOf } from "../compile/read.ts";
import { callState } from "./call.ts";
import type { Requirements, Results, StateHost, StateResult, StateTable } from "./contract.ts";
import { heardChunks } from "./listen.ts";
import { type Checked, checkRequisites, RequisiteFinder, readRequisite } from "./requisites.ts";
import { durationOf, hasChanges, stateResult, tagOf, timeOfDay } from "./result.ts";
import { watchAsRequire } from "./verify-low.ts";

export type RunSettings = {
  readonly host: StateHost;
  readonly states: StateTable;
  readonly isTest: boolean;
  /** Whether the first failure ends the run. */
  readonly failsHard: boolean;
};

/** Sections of a comment about missing requisites, in Salt's order. */
const named = [
  ...["require", "require_any", "watch", "watch_any", "prereq", "onfail", "onfail_any", "onchanges", "onchanges_any"],
];
/** More rounds than any chunk needs, so that a circle of requisites ends. */
const roundsMax = 20;

/** Compiles and runs high data. @returns the results, or Salt's sentences if it cannot be compiled */
export async function runHighData(
  settings: RunSettings,
  high: HighData,
  processed: ReadonlySet<string>,
): Promise<Results | readonly string[]> {
  const { value, errors } = lowState(high, true);
  if (errors.length > 0) return errors;
  const numbers = { next: 0 };
  const running = await new StateRun(settings, value, processed, numbers).run();
  const { chunks, errors: missing } = heardChunks(value, running);
  const heard = await new StateRun(settings, chunks, processed, numbers).run();
  for (const [tag, result] of heard) running.set(tag, result);
  for (const [tag, result] of missing) running.set(tag, result.set("__run_num__", numbers.next++));
  return running;
}

/** Runs one chunk by itself, without requisites. */
export async function runSingle(settings: RunSettings, low: LowChunk): Promise<StateResult> {
  const run = new StateRun(settings, [], new Set(), { next: 0 });
  return await run.callAlone(low);
}

class StateRun {
  readonly #settings: RunSettings;
  readonly #chunks: readonly LowChunk[];
  readonly #finder: RequisiteFinder;
  readonly #numbers: { next: number };
  readonly #running: Results = new Map();
  readonly #trials: Results = new Map();
  readonly #parallel = new Map<string, Promise<void>>();
  #active = new Set<string>();
  #isStopped = false;

  constructor(
    settings: RunSettings,
    chunks: readonly LowChunk[],
    processed: ReadonlySet<string>,
    numbers: { next: number },
  ) {
    this.#settings = settings;
    this.#chunks = chunks;
    this.#finder = new RequisiteFinder(chunks, processed);
    this.#numbers = numbers;
  }

  async run(): Promise<Results> {
    for (const low of this.#chunks) {
      if (this.#isStopped) break;
      if (!this.#running.has(tagOf(low))) {
        await this.#run(low, 0);
        if (this.#failsHard(low)) break;
      }
      this.#active = new Set();
    }
    await Promise.all(this.#parallel.values());
    return this.#running;
  }

  callAlone(low: LowChunk): Promise<StateResult> {
    return this.#call(low, new Map());
  }

  #failsHard(low: LowChunk): boolean {
    if (this.#settings.isTest || !isTrue(low.get("failhard") ?? this.#settings.failsHard)) return false;
    return this.#running.get(tagOf(low))?.get("result") === false;
  }

  async #check(low: LowChunk, isTrial: boolean): Promise<Checked> {
    watchAsRequire(low, this.#settings.states);
    const results = { running: this.#running, trials: this.#trials };
    const checked = checkRequisites(low, this.#finder, results, isTrial);
    const waited = [...checked.requirements.values()].flat().flatMap((chunk) => this.#parallel.get(tagOf(chunk)) ?? []);
    if (waited.length === 0) return checked;
    await Promise.all(waited);
    return checkRequisites(low, this.#finder, results, isTrial);
  }

  async #run(low: LowChunk, depth: number): Promise<void> {
    const tag = tagOf(low);
    if (!isTrue(low.get("prerequired") ?? null)) this.#active.add(tag);
    const isTrial = low.get("__prereq__") === true;
    const { status, requirements } = await this.#check(low, isTrial);
    if (status === "unmet") await this.#runRequired(low, depth);
    else if (status === "fail") this.#fail(low, requirements);
    else if (status === "change" && !isTrial) this.#running.set(tag, await this.#callWatching(low, requirements));
    else if (status === "pre") this.#trials.set(tag, this.#put(low, this.#result(low, true, "No changes detected")));
    else if (status === "onfail" || status === "onchanges") this.#skip(low, status);
    else (isTrial ? this.#trials : this.#running).set(tag, await this.#call(low, requirements));
    const result = this.#running.get(tag);
    if (result !== undefined) await this.#report(low, result);
  }

  async #report(low: LowChunk, result: StateResult): Promise<void> {
    await this.#settings.host.report(result, this.#chunks.length, low.get("fire_event") ?? null);
  }

  #put(low: LowChunk, result: StateResult): StateResult {
    this.#running.set(tagOf(low), result);
    this.#numbers.next += 1;
    return result;
  }

  /** A result that the runtime makes by itself. */
  #result(low: LowChunk, isGood: boolean, comment: string, more: readonly [Value, Value][] = []): StateResult {
    const now = this.#settings.host.now();
    return new Map<Value, Value>([
      ["changes", new Map()],
      ["result", isGood],
      ["duration", durationOf(0)],
      ["start_time", timeOfDay(now)],
      ["comment", comment],
      ...more,
      ["__run_num__", this.#numbers.next],
      ...originOf(low),
    ]);
  }

  #skip(low: LowChunk, status: "onfail" | "onchanges"): void {
    const comment =
      status === "onfail"
        ? "State was not run because onfail req did not change"
        : "State was not run because none of the onchanges reqs changed";
    this.#put(low, this.#result(low, true, comment, [["__state_ran__", false]]));
  }

  /** A requisite failed. A failed trial for `prereq` is shown itself. */
  #fail(low: LowChunk, requirements: Requirements): void {
    const tag = tagOf(low);
    const trial = this.#trials.get(tag);
    if (trial !== undefined) {
      trial.set("changes", new Map()).set("__run_num__", this.#numbers.next);
      for (const [key, value] of originOf(low)) trial.set(key, value);
      this.#put(low, trial);
      return;
    }
    const failed = new Set<string>();
    for (const chunk of [...requirements.values()].flat()) {
      const result = this.#trials.get(tagOf(chunk)) ?? this.#running.get(tagOf(chunk));
      if (result?.get("result") === false)
        failed.add(`${strOf(chunk.get("__sls__") ?? null)}.${strOf(chunk.get("__id__") ?? null)}`);
    }
    const comment = `One or more requisite failed: ${[...failed].join(", ")}`;
    this.#trials.set(tag, this.#put(low, this.#result(low, false, comment)));
  }

  // Requisites that have not run

  async #runRequired(low: LowChunk, depth: number): Promise<void> {
    const tag = tagOf(low);
    const { chunks, lost } = this.#required(low);
    if (lost.length > 0) {
      const result = this.#result(low, false, `The following requisites were not found:\n${lost.join("")}`);
      if (low.get("__prereq__") === true) this.#trials.set(tag, result);
      else this.#running.set(tag, result);
      this.#numbers.next += 1;
      await this.#report(low, result);
      return;
    }
    for (const chunk of chunks) {
      const other = tagOf(chunk);
      if (this.#running.has(other)) continue;
      if (this.#active.has(other)) return await this.#circle(low, chunk);
      await this.#run(chunk, 0);
      if (this.#failsHard(chunk)) {
        this.#isStopped = true;
        return;
      }
    }
    if (low.get("__prereq__") === true) await this.#tryAgain(low);
    else if (depth + 1 >= roundsMax) this.#running.set(tag, this.#recursive(low));
    else await this.#run(low, depth + 1);
    const last = chunks.at(-1);
    if (last !== undefined && this.#failsHard(last)) this.#isStopped = true;
  }

  async #tryAgain(low: LowChunk): Promise<void> {
    const { status, requirements } = await this.#check(low, true);
    const trial = await this.#call(low, requirements);
    if (!hasChanges(trial) && status === "change")
      trial.set("changes", new Map([["watch", "watch"]])).set("result", null);
    this.#trials.set(tagOf(low), trial);
  }

  /** A requisite waits for this chunk. A chunk that another one tries for `prereq` is tried now. */
  async #circle(low: LowChunk, chunk: LowChunk): Promise<void> {
    const tag = tagOf(low);
    if (chunk.get("__prerequired__") === true) {
      if (this.#trials.has(tag)) return;
      low.set("__prereq__", true);
      this.#trials.set(tagOf(chunk), await this.#call(low, new Map()));
      return;
    }
    const result = this.#put(low, this.#recursive(low));
    await this.#report(low, result);
  }

  #recursive(low: LowChunk): StateResult {
    const result = stateResult(null, false, "Recursive requisite found");
    result.delete("name");
    return new Map<Value, Value>([...result, ["__run_num__", this.#numbers.next], ...originOf(low)]);
  }

  /** The chunks of all requisites, and Salt's lines about missing ones. */
  #required(low: LowChunk): { readonly chunks: readonly LowChunk[]; readonly lost: readonly string[] } {
    const chunks: LowChunk[] = [];
    const lost: string[] = [];
    const isTrial = low.get("__prereq__") === true;
    for (const key of isTrial ? named : [...named, "prerequired"]) {
      const missing: string[] = [];
      for (const requisite of argumentsOf(low.get(key))) {
        const { kind, name } = readRequisite(requisite);
        const found = name === null ? undefined : this.#finder.find(kind, name);
        if (found === undefined) missing.push(`${" ".repeat(23)}${kind}: ${strOf(name)}\n`);
        for (const chunk of found ?? []) {
          if (key === "prereq") chunk.set("__prereq__", true);
          if (key === "prerequired" && kind !== "sls") chunk.set("__prerequired__", true);
          chunks.push(chunk);
        }
      }
      if (missing.length > 0) lost.push(`${" ".repeat(19)}${key}:\n${missing.join("")}`);
    }
    return { chunks, lost };
  }

  // Calls

  async #call(low: LowChunk, requirements: Requirements): Promise<StateResult> {
    return await callState(this.#settings, {
      low,
      running: this.#running,
      requirements,
      number: () => this.#numbers.next++,
      start: (chunk, run) => this.#start(chunk, run),
    });
  }

  /** Runs the state, and if it changed nothing itself, its module's `mod_watch`. */
  async #callWatching(low: LowChunk, requirements: Requirements): Promise<StateResult> {
    const result = await this.#call(low, requirements);
    if (hasChanges(result) || result.get("skip_watch") === true) return result;
    const watching = new Map(low).set("sfun", low.get("fun") ?? null).set("fun", "mod_watch");
    return await this.#call(watching, requirements);
  }

  #start(low: LowChunk, run: () => Promise<StateResult>): StateResult {
    const placeholder = stateResult(low.get("name") ?? null, null, "Started in a separate process");
    const tag = tagOf(low);
    const { host } = this.#settings;
    const before = [...this.#parallel.values()].at(-parallelStatesMax);
    const task = async () => {
      await before;
      const started = host.now();
      for (const [key, value] of await run()) placeholder.set(key, value);
      placeholder.set("start_time", timeOfDay(started)).set("duration", durationOf(host.now() - started));
      placeholder.set("__parallel__", true);
    };
    this.#parallel.set(tag, task());
    return placeholder;
  }
}

function originOf(low: LowChunk): [Value, Value][] {
  return ["__sls__", "__id__", "name"].map((key) => [key, low.get(key) ?? null]);
}
