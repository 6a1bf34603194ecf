/**
 * Decides what `peer` and `peer_run` permit. Each maps patterns of minion ids to a list: `peer` to grants in the language of permissions.ts,
 * `peer_run` to patterns of runner functions. Source: Salt's `__verify_minion_publish` and `minion_runner`, recorded in test/vectors/peer-rules.json.
 */
import type { MasterConfig } from "../../config/load.ts";
import type { ConfigMap, ConfigValue } from "../../config/yaml/values.ts";
import { hasCode } from "../../errors.ts";
import { compilePythonPattern, type PythonPattern } from "../../python/regex/match.ts";
import { type AskedCall, type IsWithin, Permissions } from "./permissions.ts";

/** A rule whose pattern cannot be compiled is dropped, so it permits nothing. */
type Rule = { readonly minions: PythonPattern; readonly grants: readonly ConfigValue[] };

/** Functions that need no grant: none. Minions need a grant even for find_job. */
const always: ReadonlySet<string> = new Set();

export class PeerRules {
  /** Messages about rules and patterns that are ignored. */
  readonly faults: readonly string[];
  readonly #permissions = new Permissions();
  readonly #publishing: readonly Rule[];
  readonly #running: readonly Rule[];

  constructor({ peer, peer_run: peerRun }: Pick<MasterConfig, "peer" | "peer_run">) {
    const faults: string[] = [];
    this.#publishing = rulesOf("peer", peer as ConfigMap, faults);
    this.#running = rulesOf("peer_run", peerRun as ConfigMap, faults);
    this.faults = faults;
  }

  /** Refuses functions of the `publish` module: a publish that publishes would never end. */
  async mayPublish(id: string, call: AskedCall, isWithin: IsWithin): Promise<boolean> {
    if (call.fun.startsWith("publish")) return false;
    return await this.#permissions.mayPublish(this.publishGrants(id), [call], isWithin, always);
  }

  publishGrants(id: string): readonly ConfigValue[] {
    return grantsFor(this.#publishing, id);
  }

  async mayRun(id: string, fun: string): Promise<boolean> {
    const texts = grantsFor(this.#running, id).filter((grant) => typeof grant === "string");
    const call = { fun, args: [], kwargs: undefined };
    return await this.#permissions.mayPublish(texts, [call], () => Promise.resolve(false), always);
  }
}

function grantsFor(rules: readonly Rule[], id: string): ConfigValue[] {
  return rules.flatMap(({ minions, grants }) => (minions.matchesStart(id) ? grants : []));
}

function rulesOf(option: string, rules: ConfigMap, faults: string[]): Rule[] {
  return Object.entries(rules).flatMap(([pattern, grants]) => {
    if (!Array.isArray(grants)) {
      faults.push(`${option}: the permissions of '${pattern}' are not a list`);
      return [];
    }
    for (const grant of grants)
      if (typeof grant === "string" && compiled(grant) === undefined)
        faults.push(`${option}: '${pattern}': '${grant}' is not a valid pattern`);
    const minions = compiled(pattern);
    if (minions === undefined) faults.push(`${option}: '${pattern}' is not a valid pattern`);
    return minions === undefined ? [] : [{ minions, grants }];
  });
}

function compiled(pattern: string): PythonPattern | undefined {
  try {
    return compilePythonPattern(pattern);
  } catch (error) {
    if (!hasCode(error, "TARGET_INVALID")) throw error;
    return undefined;
  }
}
