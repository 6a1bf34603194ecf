/** Parses a target expression of any kind to a tree, which is then matched against many minions. Source: Salt's target types. */
import { SaltworksError } from "../errors.ts";
import { targetExpressionBytesMax } from "../limits.ts";
import { listNames, parseCompound, refused, type Tree } from "./compound.ts";
import { dataTerm, globTerm, ipTerm, listTerm, nestedTerm, pcreTerm, type Term } from "./term.ts";

export type TargetKind =
  | "glob"
  | "pcre"
  | "list"
  | "grain"
  | "grain_pcre"
  | "pillar"
  | "pillar_pcre"
  | "pillar_exact"
  | "ipcidr"
  | "compound"
  | "compound_pillar_exact"
  | "range"
  | "data"
  | "nodegroup";

/** Immutable. A side's tree is undefined if the expression is invalid for that side; it then matches no minion. */
export type Target = {
  readonly kind: TargetKind;
  readonly minionTree: Tree | undefined;
  readonly masterTree: Tree | undefined;
  readonly listedIds: readonly string[] | undefined;
  /** Why the expression is invalid for one side. */
  readonly fault?: string | undefined;
};

/**
 * `expression` is text, or for `list` and `compound` also a list of names or words. `delimiter` parts keys of grain and pillar
 * targets (default `:`); the terms of a compound carry their own.
 *
 * @throws SaltworksError TARGET_INVALID; its message names the error, the exceeded limit or the refused construct
 */
export function parseTarget(kind: string, expression: string | readonly string[], delimiter = ":"): Target {
  checkSize(expression);
  if (kind === "compound" || kind === "compound_pillar_exact") {
    const compound = parseCompound(expression, kind === "compound_pillar_exact");
    return { ...compound, kind, listedIds: compound.listedIds.length > 0 ? compound.listedIds : undefined };
  }
  if (kind === "list") {
    const names = typeof expression === "string" ? listNames(expression) : expression;
    return single(kind, listTerm(names), names);
  }
  if (typeof expression !== "string") throw invalid(kind, "a list of words where text is expected");
  if (delimiter === "") throw invalid(kind, "an empty delimiter");
  return parseText(kind, expression, delimiter);
}

const dataKinds: ReadonlySet<string> = new Set<TargetKind>([
  "grain",
  "grain_pcre",
  "pillar",
  "pillar_pcre",
  "pillar_exact",
  "ipcidr",
  "compound",
  "compound_pillar_exact",
  "data",
  "nodegroup",
]);

/** Whether matching needs grains or pillar. With `minion_data_cache` off a master expects every accepted minion for such a target. */
export function needsMinionData(kind: string): boolean {
  return dataKinds.has(kind);
}

function parseText(kind: string, expression: string, delimiter: string): Target {
  switch (kind) {
    case "glob":
      return single(kind, globTerm(expression));
    case "pcre":
      return single(kind, pcreTerm(expression));
    case "grain":
      return single(kind, nestedTerm("grains", expression, delimiter, "glob"));
    case "grain_pcre":
      return single(kind, nestedTerm("grains", expression, delimiter, "pcre"));
    case "pillar":
      return single(kind, nestedTerm("pillar", expression, delimiter, "glob"));
    case "pillar_pcre":
      return single(kind, nestedTerm("pillar", expression, delimiter, "pcre"));
    case "pillar_exact":
      return single(kind, nestedTerm("pillar", expression, delimiter, "exact"));
    case "ipcidr":
      return single(kind, ipTerm(expression));
    case "data":
      return single(kind, dataTerm(expression));
    case "range":
    case "nodegroup":
      throw refused(kind);
    default:
      throw invalid("target", `unknown kind "${kind.slice(0, 40)}"`);
  }
}

function single(kind: TargetKind, term: Term, listedIds?: readonly string[]): Target {
  const tree: Tree = { kind: "term", term };
  return { kind, minionTree: tree, masterTree: tree, listedIds };
}

function invalid(kind: string, reason: string): SaltworksError {
  return new SaltworksError("TARGET_INVALID", `${kind} target invalid: ${reason}`, { isRefused: false });
}

function checkSize(expression: string | readonly string[]): void {
  const texts = typeof expression === "string" ? [expression] : expression;
  let byteCount = 0;
  for (const text of texts) byteCount += Buffer.byteLength(text) + 1;
  if (byteCount - 1 <= targetExpressionBytesMax) return;
  throw new SaltworksError("TARGET_INVALID", `target invalid: ${byteCount} bytes (most: ${targetExpressionBytesMax})`, {
    isRefused: true,
    bytes: byteCount,
    max: targetExpressionBytesMax,
  });
}
