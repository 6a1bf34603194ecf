/** One term of a target, and whether a minion's id or facts match it. Source: docs/compatibility.md, "Targeting". */

import { SaltworksError } from "../errors.ts";
import { targetPatternLengthMax } from "../limits.ts";
import { compileGlob, type Glob } from "../python/fnmatch.ts";
import { type IpAddress, type IpNetwork, networkHolds, parseAddress, parseNetwork } from "../python/ipaddress.ts";
import { compilePythonPattern, type PythonPattern } from "../python/regex/match.ts";
import { strOf } from "../python/repr.ts";
import { type Datum, type Facts, isList, isMap } from "./facts.ts";
import { hasValuePart, type MatchStyle, matchesNested, type NestedQuery, openNestedQuery } from "./nested-match.ts";

export type Term =
  | { readonly kind: "glob"; readonly text: string; readonly glob: Glob }
  | { readonly kind: "pcre"; readonly text: string; readonly pattern: PythonPattern }
  | { readonly kind: "list"; readonly ids: ReadonlySet<string> }
  | { readonly kind: "grains" | "pillar"; readonly query: NestedQuery }
  | { readonly kind: "address"; readonly address: IpAddress }
  | { readonly kind: "network"; readonly network: IpNetwork }
  | { readonly kind: "data"; readonly key: string; readonly pattern: string }
  /** A term that matches no minion: Salt logs it as an error, for example a network with host bits set. */
  | { readonly kind: "nothing" };

export function globTerm(expression: string): Term {
  checkLength(expression);
  return { kind: "glob", text: expression, glob: compileGlob(expression) };
}

export function pcreTerm(expression: string): Term {
  checkLength(expression);
  return { kind: "pcre", text: expression, pattern: compilePythonPattern(expression) };
}

/** Without the empty names that stray commas cause. */
export function listTerm(names: readonly string[]): Term {
  return { kind: "list", ids: new Set(names.filter((name) => name !== "")) };
}

/** @throws SaltworksError TARGET_INVALID; `detail.isRefused` is false if the term is false in Salt */
export function nestedTerm(kind: "grains" | "pillar", expression: string, delimiter: string, style: MatchStyle): Term {
  checkLength(expression);
  const query = openNestedQuery(expression, delimiter, style);
  if (hasValuePart(query)) return { kind, query };
  throw new SaltworksError("TARGET_INVALID", `no "${delimiter}" between key and value`, { isRefused: false });
}

export function ipTerm(expression: string): Term {
  const address = parseAddress(expression);
  if (address !== undefined) return { kind: "address", address };
  const network = parseNetwork(expression);
  if (network !== undefined) return { kind: "network", network };
  throw new SaltworksError("TARGET_INVALID", "neither an address nor a network (host bits must be zero)", {
    isRefused: false,
  });
}

export function dataTerm(expression: string): Term {
  checkLength(expression);
  const [key = "", pattern] = expression.split(":");
  if (pattern !== undefined) return { kind: "data", key, pattern };
  throw new SaltworksError("TARGET_INVALID", 'no ":" between key and value', { isRefused: false });
}

function checkLength(expression: string): void {
  if (expression.length <= targetPatternLengthMax) return;
  const reason = `a pattern of ${expression.length} characters (most: ${targetPatternLengthMax})`;
  throw new SaltworksError("TARGET_INVALID", `target refused: ${reason}`, { isRefused: true });
}

/** Steps of the term's regular expressions, for `targetPatternStepsMax`. */
export function patternSteps(term: Term): number {
  if (term.kind === "pcre") return term.pattern.stepCount;
  return term.kind === "grains" || term.kind === "pillar" ? term.query.stepCount : 0;
}

/** Whether the id alone decides the term. */
export function needsIdOnly(term: Term): boolean {
  return term.kind === "glob" || term.kind === "pcre" || term.kind === "list" || term.kind === "nothing";
}

export function idMatches(term: Term, id: string): boolean {
  if (term.kind === "glob") return term.glob.matches(id);
  if (term.kind === "pcre") return term.pattern.matchesStart(id);
  return term.kind === "list" && term.ids.has(id);
}

export function termMatches(term: Term, facts: Facts): boolean {
  switch (term.kind) {
    case "grains":
      return matchesNested(term.query, facts.grains);
    case "pillar":
      return matchesNested(term.query, facts.pillar);
    case "address":
      return addressesOf(facts, term.address.family).some((address) => address.value === term.address.value);
    case "network":
      return addressesOf(facts, term.network.family).some((address) => networkHolds(term.network, address));
    case "data":
      return dataMatches(term.key, term.pattern, facts);
    default:
      return idMatches(term, facts.id);
  }
}

function addressesOf(facts: Facts, family: 4 | 6): IpAddress[] {
  const grain = facts.grains.get(`ipv${family}`);
  const texts = isList(grain) ? grain : [grain];
  return texts.flatMap((text) => {
    const address = typeof text === "string" ? parseAddress(text) : undefined;
    return address === undefined || address.family !== family ? [] : [address];
  });
}

/** Matches the minion's data store: list members without regard to case, map keys exactly, scalars by glob. */
function dataMatches(key: string, pattern: string, facts: Facts): boolean {
  const value: Datum | undefined = facts.data?.get(key);
  if (value === undefined || value === null) return false;
  if (isMap(value)) return value.has(pattern);
  if (!isList(value)) return typeof value === "string" && compileGlob(pattern).matches(value);
  const glob = compileGlob(pattern.toLowerCase());
  return value.some((member) => glob.matches(strOf(member).toLowerCase()));
}
