/**
 * The permission language of `external_auth` and `publisher_acl`. Source: the decisions of Salt's CkMinions, recorded in
 * test/vectors/permissions.json; docs/external-auth.md says where this is stricter.
 */
import { entriesOf } from "../../config/external-auth.ts";
import { type ConfigMap, type ConfigValue, isConfigMap } from "../../config/yaml/values.ts";
import { permissionPatternsMax } from "../../limits.ts";
import { expressionMatches, patternOf } from "../../python/expression.ts";
import type { PythonPattern } from "../../python/regex/match.ts";
import { strOf } from "../../python/repr.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { argumentsAsSent, type CallArguments, callArguments } from "./call-arguments.ts";

/** Permissions of one user: texts and maps of the configuration. */
export type Grants = readonly ConfigValue[];
/** One requested function. `kwargs`: undefined if none were given. */
export type AskedCall = {
  readonly fun: string;
  readonly args: readonly Value[];
  readonly kwargs: ValueMap | undefined;
};
/** Whether all target minions match this compound target. */
export type IsWithin = (target: string) => Promise<boolean>;

const nothingAlways: ReadonlySet<string> = new Set();
/** Grants of a local user by `publisher_acl`, whose names may be globs or regular expressions. */
export function grantsOfLocalUser(acl: ConfigMap, user: string): ConfigValue[] {
  return Object.entries(acl).flatMap(([expression, granted]) =>
    expressionMatches(user, expression) ? entriesOf(granted) : [],
  );
}

/** Whether `publisher_acl_blacklist` has the user, or one of the functions. */
export function isBlacklisted(blacklist: ConfigMap, user: string, functions: readonly string[]): boolean {
  const isListed = (text: string, list: ConfigValue | undefined) =>
    entriesOf(list).some((expression) => typeof expression === "string" && expressionMatches(text, expression));
  return isListed(user, blacklist.users) || functions.some((fun) => isListed(fun, blacklist.modules));
}

/** Decides about calls. Caches compiled patterns, because every publish uses the same few. */
export class Permissions {
  readonly #patterns = new Map<string, PythonPattern | undefined>();

  /** Whether each function is granted for all target minions. */
  async mayPublish(
    grants: Grants,
    calls: readonly AskedCall[],
    isWithin: IsWithin,
    always: ReadonlySet<string> = nothingAlways,
  ): Promise<boolean> {
    for (const call of calls) {
      if (!always.has(call.fun) && !(await this.#isPublishGranted(grants, call, isWithin))) return false;
    }
    return calls.length > 0;
  }

  async #isPublishGranted(grants: Grants, call: AskedCall, isWithin: IsWithin): Promise<boolean> {
    // The limits on arguments must hold both as minions read the arguments and as Salt's master reads them.
    const forms = [callArguments(call.args, undefined, true), argumentsAsSent(call.args)];
    for (const grant of grants) {
      if (typeof grant === "string") {
        if (this.#isMatch(grant, call.fun)) return true;
        continue;
      }
      const [target, conditions] = onlyEntry(grant) ?? [];
      if (target === undefined || conditions === undefined) continue;
      if (!this.#isCallGranted(conditions, call.fun, forms)) continue;
      if (await isWithin(target)) return true;
    }
    return false;
  }

  /** Decides about a runner or wheel function. "malformed": the name is not `module.function`. */
  mayCall(grants: Grants, kind: "runner" | "wheel", call: AskedCall): "granted" | "denied" | "malformed" {
    if (grants.length === 0) return "denied";
    const [module, fun, ...more] = call.fun.split(".");
    if (module === undefined || fun === undefined || more.length > 0) return "malformed";
    const forms = [callArguments(call.args, call.kwargs, false)];
    const isAll = (name: string) => name === kind || name === `${kind}s`;
    for (const grant of grants) {
      const [written, conditions] = typeof grant === "string" ? [grant] : (onlyEntry(grant) ?? []);
      if (written === undefined || !written.startsWith("@")) continue;
      const name = written.slice(1);
      if (conditions === undefined) {
        if (name === module || isAll(name)) return "granted";
        continue;
      }
      if (name === module && this.#isCallGranted(conditions, fun, forms)) return "granted";
      if (isAll(name) && this.#isCallGranted(conditions, call.fun, forms)) return "granted";
    }
    return "denied";
  }

  /** `conditions`: patterns of functions, or maps of such a pattern to limits on the arguments. */
  #isCallGranted(conditions: ConfigValue, fun: string, forms: readonly CallArguments[]): boolean {
    return entriesOf(conditions).some((condition) => {
      if (typeof condition === "string") return this.#isMatch(condition, fun);
      const [pattern, limits] = onlyEntry(condition) ?? [];
      if (pattern === undefined || limits === undefined || !this.#isMatch(pattern, fun)) return false;
      return entriesOf(limits).some(
        (limit) => isConfigMap(limit) && forms.every((form) => this.#areArgumentsWithin(limit, form)),
      );
    });
  }

  /** Only listed arguments are checked; null permits any value. */
  #areArgumentsWithin(limit: ConfigMap, { args, kwargs }: CallArguments): boolean {
    const positional = limit.args ?? [];
    const named = limit.kwargs ?? {};
    if (!Array.isArray(positional) || !isConfigMap(named)) return false;
    const fits = (pattern: ConfigValue | undefined, value: Value) =>
      pattern === null || (typeof pattern === "string" && this.#isMatch(pattern, strOf(value)));
    if (!positional.every((pattern, index) => index < args.length && fits(pattern, args[index] ?? null))) return false;
    return Object.entries(named).every(
      ([name, pattern]) => kwargs.has(name) && fits(pattern, kwargs.get(name) ?? null),
    );
  }

  /** As Python's `re.match`: the pattern must match the start of the text. */
  #isMatch(pattern: string, text: string): boolean {
    let compiled = this.#patterns.get(pattern);
    if (compiled === undefined && !this.#patterns.has(pattern)) {
      if (this.#patterns.size >= permissionPatternsMax) this.#patterns.clear();
      compiled = patternOf(pattern);
      this.#patterns.set(pattern, compiled);
    }
    return compiled?.matchesStart(text) === true;
  }
}

/** Name and value of a map with one member; undefined for anything else. */
function onlyEntry(grant: ConfigValue): [name: string, value: ConfigValue] | undefined {
  if (!isConfigMap(grant)) return undefined;
  const entries = Object.entries(grant);
  return entries.length === 1 ? entries[0] : undefined;
}
