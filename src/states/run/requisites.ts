/** Decides from results whether a chunk's requisites are met. Source: Salt 3007's runtime, recorded in test/golden/states. */
import { SaltworksError } from "../../errors.ts";
import { compileGlob, type Glob } from "../../python/fnmatch.ts";
import { strOf } from "../../python/repr.ts";
import type { Value } from "../../wire/values.ts";
import type { LowChunk } from "../compile/contract.ts";
import { argumentsOf, firstOf } from "../compile/read.ts";
import type { Results, StateResult } from "./contract.ts";
import { hasChanges, tagOf } from "./result.ts";

/** `pre`: a trial for `prereq` found no changes. `change`: a watched state has changes. */
export type Status = "met" | "unmet" | "fail" | "pre" | "onfail" | "onchanges" | "change";
type Mark = Status | "premet" | "onchangesmet";

const decisive = [
  ...["require", "require_any", "watch", "watch_any", "prereq", "onfail", "onfail_any", "onfail_all"],
  ...["onchanges", "onchanges_any"],
];

/** Finds the chunks that requisites mean. */
export class RequisiteFinder {
  readonly #chunks: readonly LowChunk[];
  readonly #processed: ReadonlySet<string>;
  readonly #globs = new Map<string, Glob>();

  /** `processed`: names of all rendered SLS files, also of those without states. */
  constructor(chunks: readonly LowChunk[], processed: ReadonlySet<string>) {
    this.#chunks = chunks;
    this.#processed = processed;
  }

  #matches(pattern: string, text: Value | undefined): boolean {
    const glob = this.#globs.get(pattern) ?? compileGlob(pattern);
    this.#globs.set(pattern, glob);
    return glob.matches(strOf(text ?? null));
  }

  /** @returns undefined if there is neither such a state nor such a file @throws SaltworksError FUNCTION_FAILED for one that is not a text */
  find(kind: string, name: Value): readonly LowChunk[] | undefined {
    if (typeof name !== "string") {
      const [first] = this.#chunks;
      const text = `Could not locate requisite of [${kind}] present in state with name [${strOf(first?.get("name") ?? null)}]`;
      throw new SaltworksError("FUNCTION_FAILED", text, { kind: "command" });
    }
    const found = this.#chunks.filter((chunk) => {
      if (kind === "sls")
        return (
          this.#matches(name, chunk.get("__sls__")) ||
          argumentsOf(chunk.get("__sls_included_from__")).some((sls) => sls === name)
        );
      if (kind !== "id" && chunk.get("state") !== kind) return false;
      return this.#matches(name, chunk.get("name")) || this.#matches(name, chunk.get("__id__"));
    });
    if (found.length > 0) return found;
    return kind === "sls" && [...this.#processed].some((sls) => this.#matches(name, sls)) ? [] : undefined;
  }
}

/** A requisite's kind, without a function, and the name that it means. */
export function readRequisite(requisite: Value): { readonly kind: string; readonly name: Value } {
  if (typeof requisite === "string") return { kind: "id", name: requisite };
  const [key = "", name = null] = firstOf(requisite) ?? [];
  return { kind: key.split(".")[0] ?? key, name };
}

export type Checked = { readonly status: Status; readonly requirements: ReadonlyMap<string, readonly LowChunk[]> };

/**
 * @param trials - results of trials for `prereq`
 * @param isTrial - whether the chunk itself is tried, so that `prerequired` does not count
 */
export function checkRequisites(
  low: LowChunk,
  finder: RequisiteFinder,
  { running, trials }: { readonly running: Results; readonly trials: Results },
  isTrial: boolean,
): Checked {
  const names = isTrial ? decisive : [...decisive, "prerequired"];
  const requirements = new Map<string, LowChunk[]>(names.map((name) => [name, []]));
  if (![...decisive, "prerequired"].some((name) => low.has(name))) return { status: "met", requirements: new Map() };
  for (const [name, chunks] of requirements) {
    for (const requisite of argumentsOf(low.get(name))) {
      const { kind, name: meant } = readRequisite(requisite);
      if (meant === null) continue;
      const found = finder.find(kind, meant);
      if (found === undefined) return { status: "unmet", requirements: new Map() };
      chunks.push(...found);
    }
  }
  const marks = new Set<Mark>();
  for (const [name, chunks] of requirements) {
    const results = name === "prereq" ? trials : running;
    const own = new Set<Mark>();
    for (const chunk of chunks) addMark(own, name, results.get(tagOf(chunk)));
    settle(own, name);
    for (const mark of own) marks.add(mark);
  }
  return { status: statusOf(marks), requirements };
}

function addMark(marks: Set<Mark>, name: string, result: StateResult | undefined): void {
  if (result === undefined) {
    marks.add("unmet");
    return;
  }
  const outcome = result.get("result") ?? null;
  if (name.startsWith("onfail")) {
    if (outcome === true) {
      marks.add("onfail");
      return;
    }
  } else if (name.startsWith("onchanges")) {
    marks.add(outcome === false || !hasChanges(result) ? "onchanges" : "onchangesmet");
    return;
  } else if (outcome === false) {
    marks.add("fail");
    return;
  }
  if (name.startsWith("watch") && hasChanges(result)) {
    marks.add("change");
    return;
  }
  if (name === "prereq" && outcome === null) marks.add("premet");
  if (name.startsWith("prereq") && outcome !== null) {
    if (name === "prereq") marks.add("pre");
  } else if (result.get("__state_ran__") !== false) marks.add("met");
}

/** Of `_any` requisites one is enough; `onfail` counts as one of them. `onfail_all` needs all. */
function settle(marks: Set<Mark>, name: string): void {
  if (name.endsWith("_any") || name === "onfail") {
    if (marks.has("met") || marks.has("change")) marks.delete("fail");
    if (marks.has("onchangesmet")) {
      marks.delete("onchanges");
      marks.delete("fail");
    }
    if (marks.has("met")) marks.delete("onfail");
  }
  if (name.endsWith("_all") && marks.has("onfail")) marks.delete("met");
}

function statusOf(marks: ReadonlySet<Mark>): Status {
  if (marks.has("unmet")) return "unmet";
  if (marks.has("fail")) return "fail";
  if (marks.has("pre")) return marks.has("premet") ? "met" : "pre";
  if (marks.has("onfail") && !marks.has("onchangesmet")) return "onfail";
  if (marks.has("onchanges") && !marks.has("onchangesmet")) return "onchanges";
  if (marks.has("change")) return "change";
  return marks.has("onfail") ? "onfail" : "met";
}
