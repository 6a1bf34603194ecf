/**
 * `_mine_get`: a minion asks for other minions' mines. This file decides which functions it may read. The main thread collects the mines from
 * all workers. docs/protocol.md section 7.1.
 */
import { SaltworksError } from "../../errors.ts";
import { mineFunctionsMax } from "../../limits.ts";
import { compilePythonPattern } from "../../python/regex/match.ts";
import { expandTarget } from "../../target/nodegroups.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { DecodeBudget } from "../../wire/decoder.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Value } from "../../wire/values.ts";
import type { WorkerState } from "../state/worker-state.ts";
import type { Answer, Opened } from "./context.ts";
import { field, fieldBytes, textOf } from "./fields.ts";
import { replySeal } from "./reply-seal.ts";

const nothing: Answer = { value: new Map() };
const targets = new ParsedTargets();

/** Answers an empty map on each fault, as Salt does. The minion must prove its id, because a mine's entry may be for some minions only. */
export function handleMineGet(worker: WorkerState, opened: Opened): Answer {
  const { load, entries, id, isProven } = opened;
  if (id === undefined || !isProven) return nothing;
  const budget = DecodeBudget.ofRequest();
  const target = field(load, entries, "tgt", budget);
  const asked = functionsOf(field(load, entries, "fun", budget));
  if (target === undefined || asked === undefined) return nothing;
  const functions = allowedFunctions(worker.start.config.mine_get, id, asked.functions);
  // Minions of 2017 and earlier send the kind as `expr_form`.
  const kindKey = fieldBytes(load, entries, "tgt_type") === undefined ? "expr_form" : "tgt_type";
  const kind = fieldBytes(load, entries, kindKey) === undefined ? "glob" : textOf(load, entries, kindKey);
  if (functions.length === 0 || functions.length > mineFunctionsMax || kind === undefined) return nothing;
  const written = writtenOut(worker, guarded(kind), target);
  if (written === undefined) {
    worker.count("mines.targetsRefused");
    return nothing;
  }
  const ask = {
    id,
    target: encode(written.expression, "raw"),
    targetKind: written.kind,
    functions,
    isByFunction: asked.isByFunction,
    seal: replySeal(worker, opened),
  };
  return { deferred: { kind: "mineGet", ask } };
}

/** Reads one name, names separated by commas, or a list of names. The answer to a list is by function even if it has one name. */
function functionsOf(fun: Value | undefined): { functions: string[]; isByFunction: boolean } | undefined {
  if (typeof fun === "string") {
    const functions = [...new Set(fun.split(","))];
    return { functions, isByFunction: functions.length > 1 };
  }
  if (!Array.isArray(fun)) return undefined;
  const names = fun.filter((name) => typeof name === "string");
  return { functions: [...new Set(names)], isByFunction: true };
}

/** Applies `mine_get`, which maps patterns of minion ids to lists of patterns of functions. If it is unset, every minion may read every function. */
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

/** Whether the pattern matches the start of the text. An invalid pattern matches nothing. */
function matchesStart(pattern: unknown, text: string): boolean {
  if (typeof pattern !== "string") return false;
  try {
    return compilePythonPattern(pattern).matchesStart(text);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    return false;
  }
}

/** The target with its nodegroups expanded; undefined if the target is invalid. */
function writtenOut(worker: WorkerState, kind: string, target: Value): ReturnType<typeof expandTarget> | undefined {
  if (typeof target !== "string" && !isTexts(target)) return undefined;
  try {
    const written = expandTarget(kind, target, worker.nodegroups);
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

/** Replaces pillar kinds by exact ones, so that a minion cannot guess pillar values with patterns. */
function guarded(targetKind: string): string {
  const kind = targetKind.toLowerCase();
  if (kind === "pillar") return "pillar_exact";
  return kind === "compound" ? "compound_pillar_exact" : targetKind;
}
