/**
 * Explains which minions a target would reach, without sending anything: the wheel functions behind `--preview-target`, `--explain` and
 * `--confirm-above`. Answers have a bounded size for any fleet, except a requested list of ids. Source: docs/compatibility.md, "Targeting".
 */
import { SaltworksError } from "../../errors.ts";
import { explainedMax } from "../../limits.ts";
import { openKeyDirectories } from "../../store/keys/keys.ts";
import type { AskedTarget } from "../../target/asked-target.ts";
import { listedIds } from "../../target/expected.ts";
import { wordsOf } from "../../target/nodegroups.ts";
import { needsMinionData } from "../../target/parse.ts";
import { TextList } from "../../wire/text-list.ts";
import type { Encodable, Value, ValueMap } from "../../wire/values.ts";
import { type Expected, isRefused, type Targets } from "../publish/targets.ts";
import { type Asker, type GrantedMinions, refusePillar } from "./granted-minions.ts";

export type ExplainerOptions = {
  readonly targets: Targets;
  readonly accepted: ReadonlySet<string>;
  /** When a minion last proved itself, and whether it counts as connected. */
  readonly presence: { contactMs(id: string): number | undefined; isConnected(id: string): boolean };
  /** State of an id's key; undefined without a key. */
  readonly keyState: (id: string) => string | undefined;
  readonly nowMs: () => number;
};

const notGrantedText = "not a minion that you may publish to";
const operators = new Set(["and", "or", "not", "(", ")"]);

type ExplainFunctions = ReadonlyMap<string, (kwargs: ValueMap, asker?: Asker) => Promise<Encodable>>;

/** The wheel functions, by name. They throw SaltworksError TARGET_INVALID, TASK_TIMEOUT and what the pool throws. */
export function explainFunctions(
  {
    config,
    start,
  }: { readonly config: { readonly pki_dir: string }; readonly start: Pick<ExplainerOptions, "accepted"> },
  targets: Targets,
  presence: ExplainerOptions["presence"],
): ExplainFunctions {
  const keys = openKeyDirectories(config.pki_dir);
  const keyState = (id: string) => keys.stateOf(id);
  return new TargetExplainer({ targets, accepted: start.accepted, presence, keyState, nowMs: Date.now }).functions;
}

export class TargetExplainer {
  readonly #options: ExplainerOptions;

  constructor(options: ExplainerOptions) {
    this.#options = options;
  }

  get functions(): ExplainFunctions {
    return new Map([
      ["saltworks.match_target", (kwargs, asker) => this.#match(kwargs, asker)],
      ["saltworks.explain_target", (kwargs, asker) => this.#explain(textOf(kwargs), asker)],
    ]);
  }

  /** Answers `saltworks.match_target`. `is_counted`: only with the count. */
  async #match(kwargs: ValueMap, asker: Asker | undefined): Promise<Encodable> {
    const target = this.#options.targets.written(textOf(kwargs));
    const { minions, missing } = await this.#expectedFor(target, await this.#grantedMinionsOf(target, asker));
    if (kwargs.get("is_counted") === true) return { count: minions.count };
    return { count: minions.count, minions: minions.packed, missing };
  }

  /** @throws SaltworksError TARGET_INVALID if a restricted user asks about a target that is decided from pillars */
  async #grantedMinionsOf(target: AskedTarget, asker: Asker | undefined): Promise<GrantedMinions> {
    if (asker === undefined) return "everyone";
    refusePillar(this.#options.targets.parse(target));
    return await asker.granted();
  }

  /** The target's expected minions among the granted. A name outside them looks like a name without a minion. */
  async #expectedFor(target: AskedTarget, granted: GrantedMinions, isGreedy = true): Promise<Expected> {
    const { targets } = this.#options;
    const expected = await targets.expected(target, isGreedy);
    if (granted === "everyone") return expected;
    const minions = TextList.of(expected.minions.texts().filter((id) => granted.has(id)));
    return { minions, missing: listedIds(targets.parse(target))?.filter((id) => !granted.has(id)) ?? [] };
  }

  async #explain(asked: AskedTarget, asker: Asker | undefined): Promise<Encodable> {
    const { targets } = this.#options;
    const target = targets.written(asked);
    const granted = await this.#grantedMinionsOf(target, asker);
    const expected = await this.#expectedFor(target, granted);
    const fault = this.#faultOf(target);
    const answer = new Map<Encodable, Encodable>([
      ["target", target.target],
      ["target_type", target.targetKind],
      ...(fault === undefined ? [] : ([["fault", fault]] as const)),
      ["matched", expected.minions.count],
    ]);
    await this.#addAssumed(answer, target, expected, granted);
    this.#addPresence(answer, expected.minions.texts());
    this.#addUnknown(answer, target, expected.missing, granted);
    if (target.targetKind.startsWith("compound")) await this.#addTerms(answer, target, granted);
    return answer;
  }

  #faultOf(target: AskedTarget): string | undefined {
    try {
      return this.#options.targets.parse(target).fault;
    } catch (error) {
      if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
      return error.message;
    }
  }

  /** Adds minions that match only because nothing is known about them. */
  async #addAssumed(
    answer: Map<Encodable, Encodable>,
    target: AskedTarget,
    expected: Expected,
    granted: GrantedMinions,
  ): Promise<void> {
    if (!needsMinionData(target.targetKind) || expected.minions.count === 0) return;
    const { minions } = await this.#expectedFor(target, granted, false);
    // The same count without assumptions means that no minion was assumed.
    if (minions.count === expected.minions.count) return;
    const known = new Set(minions.texts());
    const assumed = expected.minions.texts().filter((id) => !known.has(id));
    if (assumed.length === 0) return;
    answer.set("without_grains_or_pillar", shown(assumed.length, firstOf(assumed)));
  }

  #addPresence(answer: Map<Encodable, Encodable>, ids: readonly string[]): void {
    const { presence } = this.#options;
    const connected: string[] = [];
    const away: string[] = [];
    for (const id of ids) (presence.isConnected(id) ? connected : away).push(id);
    const lastSeen = (found: readonly string[]) => {
      return shown(found.length, new Map(firstOf(found).map((id) => [id, this.#lastSeen(id)])));
    };
    answer.set("connected", lastSeen(connected)).set("not_connected", lastSeen(away));
  }

  #lastSeen(id: string): string {
    const contactMs = this.#options.presence.contactMs(id);
    if (contactMs === undefined) return "not heard since the master's start";
    const seconds = Math.max(0, Math.round((this.#options.nowMs() - contactMs) / 1_000));
    return `last heard ${new Date(contactMs).toISOString().slice(0, 19)}Z, ${seconds} s ago`;
  }

  /** Adds names that stand in the target and are not accepted minions. */
  #addUnknown(
    answer: Map<Encodable, Encodable>,
    target: AskedTarget,
    missing: readonly string[],
    granted: GrantedMinions,
  ): void {
    const { accepted, keyState } = this.#options;
    const known = granted === "everyone" ? accepted : granted;
    const unknown = new Set(missing.filter((id) => id !== ""));
    for (const id of spelledOut(target)) if (!known.has(id)) unknown.add(id);
    if (unknown.size === 0) return;
    const textFor = (id: string) => (granted === "everyone" ? keyText(keyState(id)) : notGrantedText);
    const states = firstOf(unknown).map((id): [string, string] => [id, textFor(id)]);
    answer.set("unknown", shown(unknown.size, new Map(states)));
  }

  /** Adds the number of minions that each term matches by itself. */
  async #addTerms(answer: Map<Encodable, Encodable>, target: AskedTarget, granted: GrantedMinions): Promise<void> {
    const terms = [...new Set(wordsOf(target.target).filter((word) => !operators.has(word)))];
    const counts = new Map<string, Encodable>();
    for (const term of terms.slice(0, explainedMax))
      counts.set(term, await this.#countOf({ ...target, target: term }, granted));
    answer.set("terms", shown(terms.length, counts));
  }

  async #countOf(term: AskedTarget, granted: GrantedMinions): Promise<Encodable> {
    try {
      return (await this.#expectedFor(term, granted)).minions.count;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return (error as Error).message;
    }
  }
}

function shown(count: number, first: Encodable): ReadonlyMap<string, Encodable> {
  return new Map<string, Encodable>([["count", count], ...(count === 0 ? [] : ([["first", first]] as const))]);
}

/** The first `explainedMax` ids in order. Sorting the ids of a whole fleet would hold up the main thread. */
function firstOf(ids: Iterable<string>): string[] {
  const first: string[] = [];
  for (const id of ids) {
    const last = first.at(-1);
    if (first.length === explainedMax && last !== undefined && id >= last) continue;
    const at = first.findIndex((other) => other > id);
    first.splice(at < 0 ? first.length : at, 0, id);
    if (first.length > explainedMax) first.pop();
  }
  return first;
}

/** Ids that stand in the target: globs without wildcards, alone or as terms of a compound. */
function spelledOut({ targetKind, target }: AskedTarget): readonly string[] {
  if (targetKind === "glob") return [String(target)].filter(isPlain);
  if (!targetKind.startsWith("compound")) return [];
  const words = wordsOf(target);
  return words.filter((word, index) => !operators.has(word) && isPlain(word) && words[index - 1] !== "not");
}

function isPlain(word: string): boolean {
  return word !== "" && !/[*?[@]/.test(word);
}

function keyText(state: string | undefined): string {
  return state === undefined ? "no key of this name" : `its key is ${state}`;
}

/** @throws SaltworksError TARGET_INVALID if the fields are not a target */
function textOf(kwargs: ValueMap): AskedTarget {
  const target: Value | undefined = kwargs.get("tgt");
  const isList = Array.isArray(target) && target.every((part) => typeof part === "string");
  if (typeof target !== "string" && !isList) {
    throw new SaltworksError("TARGET_INVALID", "tgt must be text or a list of texts", { isRefused: true });
  }
  const delimiter = kwargs.get("delimiter");
  return {
    target: target as string | string[],
    targetKind: String(kwargs.get("tgt_type") ?? "glob"),
    delimiter: typeof delimiter === "string" && delimiter !== "" ? delimiter : ":",
  };
}
