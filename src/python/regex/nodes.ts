/** The tree of a Python pattern, and the width of its matches. Pure. */
import type { CodeRange } from "./classes.ts";

/** The last two are `\b` and `\B` with ASCII words, as under `(?a)`. */
export type Anchor =
  | "textStart"
  | "textEnd"
  | "lastLineEnd"
  | "lineStart"
  | "lineEnd"
  | "boundary"
  | "insideWord"
  | "asciiBoundary"
  | "asciiInsideWord";
/** `number`: set for groups that capture. */
export type PatternNode =
  | { readonly kind: "char"; readonly code: number; readonly ignoresCase: boolean }
  | {
      readonly kind: "set";
      readonly members: readonly CodeRange[];
      readonly isNegated: boolean;
      readonly ignoresCase: boolean;
    }
  | { readonly kind: "any"; readonly takesNewline: boolean }
  | { readonly kind: "anchor"; readonly at: Anchor }
  | {
      readonly kind: "repeat";
      readonly item: PatternNode;
      readonly min: number;
      readonly max: number | undefined;
      readonly isLazy: boolean;
    }
  | { readonly kind: "group"; readonly branches: readonly PatternNode[][]; readonly number?: number }
  | { readonly kind: "reference"; readonly number: number; readonly ignoresCase: boolean }
  | {
      readonly kind: "look";
      readonly isAhead: boolean;
      readonly isNegated: boolean;
      readonly branches: readonly PatternNode[][];
    };

/** Number of characters of every match; undefined if matches differ in length. */
export function branchesWidth(branches: readonly PatternNode[][]): number | undefined {
  const widths = branches.map((branch) => {
    let width: number | undefined = 0;
    for (const node of branch) {
      const nodeWidth = widthOf(node);
      width = width === undefined || nodeWidth === undefined ? undefined : width + nodeWidth;
    }
    return width;
  });
  return widths.every((width) => width === widths[0]) ? widths[0] : undefined;
}

function widthOf(node: PatternNode): number | undefined {
  if (node.kind === "anchor" || node.kind === "look") return 0;
  if (node.kind === "reference") return undefined;
  if (node.kind === "group") return branchesWidth(node.branches);
  if (node.kind !== "repeat") return 1;
  const width = widthOf(node.item);
  if (width === 0) return 0;
  return width === undefined || node.min !== node.max ? undefined : width * node.min;
}
