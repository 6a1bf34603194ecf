/**
 * `_mine_get`: a minion asks for other minions' mines. The functions that it may have are decided here. The mines are every worker's.
 * docs/protocol.md section 7.1.
 */
import { SaltworksError } from "../../errors.ts";
import { mineFunctionsMax } from "../../limits.ts";
import { compilePythonPattern } from "../../python/regex/match.ts";
import { expandTarget } from "../../target/nodegroups.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { Shard } from "../holding/shard.ts";
import type { Answer, Opened } from "./context.ts";
import { field, fieldBytes, textOf } from "./fields.ts";
import { replySeal } from "./reply-seal.ts";

const nothing: Answer = { value: new Map() };
const targets = new ParsedTargets();

/** Answers an empty map for each fault, as Salt does. The minion has to prove itself, because entries may be for some minions only. */
export function handleMineGet(shard: Shard, opened: Opened): Answer {
  const { load, entries, id, isProven } = opened;
  const target = field(load, entries, "tgt");
  const asked = functionsOf(field(load, entries, "fun"));
  if (id === undefined || !isProven || target === undefined || asked === undefined) return nothing;
  const functions = allowedFunctions(shard.start.config.mine_get, id, asked.functions);
  // Up to 2017 the kind came as `expr_form`.
  const kindKey = fieldBytes(load, entries, "tgt_type") === undefined ? "expr_form" : "tgt_type";
  const kind = fieldBytes(load, entries, kindKey) === undefined ? "glob" : textOf(load, entries, kindKey);
  if (functions.length === 0 || functions.length > mineFunctionsMax || kind === undefined) return nothing;
  const written = writtenOut(shard, guarded(kind), target);
  if (written === undefined) {
    shard.count("mines.targetsRefused");
    return nothing;
  }
  const ask = {
    id,
    target: encode(written.expression, "raw"),
    targetKind: written.kind,
    functions,
    isByFunction: asked.isByFunction,
    seal: replySeal(shard, opened),
  };
  return { deferred: { kind: "mineGet", ask } };
}

/** One name, names with commas, or a list of names. A list is answered by function even if it has one name. */
function functionsOf(fun: Value | undefined): { functions: string[]; isByFunction: boolean } | undefined {
  if (typeof fun === "string") {
    const functions = [...new Set(fun.split(","))];
    return { functions, isByFunction: functions.length > 1 };
  }
  if (!Array.isArray(fun)) return undefined;
  const names = fun.filter((name) => typeof name === "string");
  return { functions: [...new Set(names)], isByFunction: true };
}

/** `mine_get`: patterns of minions, each with a list of patterns of functions. Unset, all minions may ask for all functions. */
function allowedFunctions(rules: unknown, id: string, functions: readonly string[]): readonly string[] {
  if (rules === null || rules === undefined) return functions;
  const mine = entriesOf(rules).flatMap(([minions, allowed]) =>
    Array.isArray(allowed) && matchesStart(minions, id) ? allowed : [],
  );
  return functions.filter((name) => mine.some((pattern) => matchesStart(pattern, name)));
}

function entriesOf(rules: unknown): [unknown, unknown][] {
  if (rules instanceof Map) return [...rules];
  return typeof rules === "object" && rules !== null && !Array.isArray(rules) ? Object.entries(rules) : [];
}

/** A pattern that cannot be read allows nothing. */
function matchesStart(pattern: unknown, text: string): boolean {
  if (typeof pattern !== "string") return false;
  try {
    return compilePythonPattern(pattern).matchesStart(text);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return false;
  }
}

/** The target with nodegroups written out. Undefined if it cannot be read; then it matches no minion. */
function writtenOut(shard: Shard, kind: string, target: Value): ReturnType<typeof expandTarget> | undefined {
  if (typeof target !== "string" && !isTexts(target)) return undefined;
  try {
    const written = expandTarget(kind, target, shard.nodegroups);
    targets.parse(written.kind, written.expression, ":");
    return written;
  } catch (error) {
    if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
    return undefined;
  }
}

function isTexts(value: Value): value is string[] {
  return Array.isArray(value) && value.every((part) => typeof part === "string");
}

/** A minion must not fish for pillar values with patterns. */
function guarded(targetKind: string): string {
  const kind = targetKind.toLowerCase();
  if (kind === "pillar") return "pillar_exact";
  return kind === "compound" ? "compound_pillar_exact" : targetKind;
}
