/**
 * Matches shell globs against whole texts, case-sensitive: `*`, `?`, `[a-z]`, `[!a]`, no escapes. Source: Python's fnmatch. Takes at most
 * time proportional to pattern length times text length.
 */

export type Glob = { matches(text: string): boolean };

type Range = { readonly first: number; readonly last: number };
type Step =
  | { readonly kind: "char"; readonly code: number }
  | { readonly kind: "any" }
  | { readonly kind: "star" }
  | { readonly kind: "set"; readonly isNegated: boolean; readonly ranges: readonly Range[] };

export function compileGlob(pattern: string): Glob {
  const steps = parseGlob(codePoints(pattern));
  if (steps.every((step) => step.kind === "char")) return { matches: (text) => text === pattern };
  return { matches: (text) => matchSteps(steps, codePoints(text)) };
}

function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

const [star, question, open, close, bang, dash] = codePoints("*?[]!-");

function parseGlob(codes: readonly number[]): Step[] {
  const steps: Step[] = [];
  let at = 0;
  while (at < codes.length) {
    const code = codes[at] ?? 0;
    at += 1;
    if (code === star) {
      if (steps.at(-1)?.kind !== "star") steps.push({ kind: "star" });
    } else if (code === question) {
      steps.push({ kind: "any" });
    } else {
      const end = code === open ? setEnd(codes, at) : -1;
      if (end < 0) {
        steps.push({ kind: "char", code });
      } else {
        steps.push(parseSet(codes.slice(at, end)));
        at = end + 1;
      }
    }
  }
  return steps;
}

/** Index of the `]` that closes the set whose body begins at `start`. Returns -1 if there is none: the `[` is then an ordinary character. */
function setEnd(codes: readonly number[], start: number): number {
  let from = start;
  if (codes[from] === bang) from += 1;
  if (codes[from] === close) from += 1;
  return codes.indexOf(close ?? 0, from);
}

function parseSet(body: readonly number[]): Step {
  const isNegated = body[0] === bang;
  const ranges: Range[] = [];
  let at = isNegated ? 1 : 0;
  while (at < body.length) {
    const first = body[at] ?? 0;
    const last = body[at + 1] === dash ? body[at + 2] : undefined;
    if (last === undefined) {
      ranges.push({ first, last: first });
      at += 1;
    } else {
      // As in Python, a backward range is empty.
      if (first <= last) ranges.push({ first, last });
      at += 3;
    }
  }
  return { kind: "set", isNegated, ranges };
}

function stepAccepts(step: Step, code: number): boolean {
  if (step.kind === "char") return step.code === code;
  if (step.kind === "set") {
    return step.isNegated !== step.ranges.some((range) => code >= range.first && code <= range.last);
  }
  return true;
}

/** Only the latest star needs to match more, so that one place to backtrack to is enough and the time is not exponential. */
function matchSteps(steps: readonly Step[], text: readonly number[]): boolean {
  let stepIndex = 0;
  let textIndex = 0;
  let starIndex = -1;
  let starText = 0;
  while (textIndex < text.length) {
    const step = steps[stepIndex];
    if (step?.kind === "star") {
      starIndex = stepIndex;
      starText = textIndex;
      stepIndex += 1;
    } else if (step !== undefined && stepAccepts(step, text[textIndex] ?? 0)) {
      stepIndex += 1;
      textIndex += 1;
    } else if (starIndex >= 0) {
      starText += 1;
      textIndex = starText;
      stepIndex = starIndex + 1;
    } else {
      return false;
    }
  }
  while (steps[stepIndex]?.kind === "star") stepIndex += 1;
  return stepIndex === steps.length;
}
