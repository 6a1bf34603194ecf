/**
 * Explains what a target would reach, without sending anything: the wheel functions behind `--preview-target`, `--explain` and `--confirm-above`.
 * Answers are bounded for any fleet, except for a list of ids that was asked for. Source: docs/compatibility.md, "Targeting".
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
import { type Asker, type Reach, refusePillar } from "./reach.ts";

export type ExplainerOptions = {
  readonly targets: Targets;
  readonly accepted: ReadonlySet<string>;
  /** When a minion last proved itself, and whether it counts as connected. */
  readonly presence: { contactMs(id: string): number | undefined; isConnected(id: string): boolean };
  /** State of an id's key; undefined without a key. */
  readonly keyState: (id: string) => string | undefined;
  readonly nowMs: () => number;
};

const outOfReachText = "not a minion that you may publish to";
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

  /** `is_counted`: only the count. */
  async #match(kwargs: ValueMap, asker: Asker | undefined): Promise<Encodable> {
    const target = this.#options.targets.written(textOf(kwargs));
    const { minions, missing } = await this.#expectedFor(target, await this.#reachOf(target, asker));
    if (kwargs.get("is_counted") === true) return { count: minions.count };
    return { count: minions.count, minions: minions.packed, missing };
  }

  /** @throws SaltworksError TARGET_INVALID for a target of pillars that a restricted user asks about */
  async #reachOf(target: AskedTarget, asker: Asker | undefined): Promise<Reach> {
    if (asker === undefined) return "everyone";
    refusePillar(this.#options.targets.parse(target));
    return await asker.reach();
  }

  /** The target's expected minions within reach. Names out of reach look like names without a minion. */
  async #expectedFor(target: AskedTarget, reach: Reach, isGreedy = true): Promise<Expected> {
    const { targets } = this.#options;
    const expected = await targets.expected(target, isGreedy);
    if (reach === "everyone") return expected;
    const minions = TextList.of(expected.minions.texts().filter((id) => reach.has(id)));
    return { minions, missing: listedIds(targets.parse(target))?.filter((id) => !reach.has(id)) ?? [] };
  }

  async #explain(asked: AskedTarget, asker: Asker | undefined): Promise<Encodable> {
    const { targets } = this.#options;
    const target = targets.written(asked);
    const reach = await this.#reachOf(target, asker);
    const expected = await this.#expectedFor(target, reach);
    const fault = this.#faultOf(target);
    const answer = new Map<Encodable, Encodable>([
      ["target", target.target],
      ["target_type", target.targetKind],
      ...(fault === undefined ? [] : ([["fault", fault]] as const)),
      ["matched", expected.minions.count],
    ]);
    await this.#addAssumed(answer, target, expected, reach);
    this.#addPresence(answer, expected.minions.texts());
    this.#addUnknown(answer, target, expected.missing, reach);
    if (target.targetKind.startsWith("compound")) await this.#addTerms(answer, target, reach);
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
    reach: Reach,
  ): Promise<void> {
    if (!needsMinionData(target.targetKind) || expected.minions.count === 0) return;
    const { minions } = await this.#expectedFor(target, reach, false);
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

  /** Adds names that the target spells out and that are not accepted minions. */
  #addUnknown(answer: Map<Encodable, Encodable>, target: AskedTarget, missing: readonly string[], reach: Reach): void {
    const { accepted, keyState } = this.#options;
    const known = reach === "everyone" ? accepted : reach;
    const unknown = new Set(missing.filter((id) => id !== ""));
    for (const id of spelledOut(target)) if (!known.has(id)) unknown.add(id);
    if (unknown.size === 0) return;
    const textFor = (id: string) => (reach === "everyone" ? keyText(keyState(id)) : outOfReachText);
    const states = firstOf(unknown).map((id): [string, string] => [id, textFor(id)]);
    answer.set("unknown", shown(unknown.size, new Map(states)));
  }

  /** Adds what each term matches by itself. */
  async #addTerms(answer: Map<Encodable, Encodable>, target: AskedTarget, reach: Reach): Promise<void> {
    const terms = [...new Set(wordsOf(target.target).filter((word) => !operators.has(word)))];
    const counts = new Map<string, Encodable>();
    for (const term of terms.slice(0, explainedMax))
      counts.set(term, await this.#countOf({ ...target, target: term }, reach));
    answer.set("terms", shown(terms.length, counts));
  }

  async #countOf(term: AskedTarget, reach: Reach): Promise<Encodable> {
    try {
      return (await this.#expectedFor(term, reach)).minions.count;
    } catch (error) {
      if (!isRefused(error)) throw error;
      return (error as Error).message;
    }
  }
}

function shown(count: number, first: Encodable): ReadonlyMap<string, Encodable> {
  return new Map<string, Encodable>([["count", count], ...(count === 0 ? [] : ([["first", first]] as const))]);
}

/** The first ids in order, as many as are shown. Sorting a whole fleet would hold up the main thread. */
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

/** Ids that the target spells out: a list, or a glob without wildcards. */
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

/** @throws SaltworksError TARGET_INVALID for fields that are not a target */
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
