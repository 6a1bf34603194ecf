/**
 * Finds and prints the differences of two lists of lines as Python's `difflib.unified_diff` does. Bounded, because the time can grow with
 * the product of both lengths. Pure.
 */
import { diffStepsMax } from "../limits.ts";

type Block = { readonly from: number; readonly to: number; readonly size: number };
/** Lines `from` to `fromEnd` of one side correspond to lines `to` to `toEnd` of the other. */
type Change = {
  readonly isEqual: boolean;
  readonly from: number;
  readonly fromEnd: number;
  readonly to: number;
  readonly toEnd: number;
};

export type DiffForm = {
  readonly from: string;
  readonly to: string;
  /** Equal lines shown around a difference. */
  readonly contextLines: number;
  /** Line end of the head's lines; other lines keep theirs. */
  readonly lineEnd: string;
};

/** The unified diff; empty for equal lists. */
export function unifiedLines(before: readonly string[], after: readonly string[], form: DiffForm): string[] {
  const groups = groupsOf(changesOf(before, after), form.contextLines);
  if (groups.length === 0) return [];
  const lines = [`--- ${form.from}${form.lineEnd}`, `+++ ${form.to}${form.lineEnd}`];
  for (const group of groups) {
    const [first, last] = [group[0], group.at(-1)];
    if (first === undefined || last === undefined) continue;
    lines.push(`@@ -${range(first.from, last.fromEnd)} +${range(first.to, last.toEnd)} @@${form.lineEnd}`);
    for (const { isEqual, from, fromEnd, to, toEnd } of group) {
      lines.push(...before.slice(from, fromEnd).map((line) => `${isEqual ? " " : "-"}${line}`));
      if (!isEqual) lines.push(...after.slice(to, toEnd).map((line) => `+${line}`));
    }
  }
  return lines;
}

/** Range in a hunk's head; an empty one names the line before it. */
function range(start: number, end: number): string {
  const count = end - start;
  if (count === 1) return String(start + 1);
  return `${count === 0 ? start : start + 1},${count}`;
}

/** Groups nearby differences into hunks, with the equal lines around them. */
function groupsOf(changes: readonly Change[], contextLines: number): Change[][] {
  const groups: Change[][] = [];
  let group: Change[] = [];
  for (const [index, change] of changes.entries()) {
    const { isEqual, from, fromEnd, to, toEnd } = change;
    const isFirst = index === 0;
    const isLast = index === changes.length - 1;
    const count = fromEnd - from;
    if (!isEqual) {
      group.push(change);
      continue;
    }
    const head = {
      isEqual,
      from,
      fromEnd: from + Math.min(count, contextLines),
      to,
      toEnd: to + Math.min(count, contextLines),
    };
    const tailCount = Math.min(count, contextLines);
    const tail = { isEqual, from: fromEnd - tailCount, fromEnd, to: toEnd - tailCount, toEnd };
    if (isFirst) group.push(tail);
    else if (isLast) group.push(head);
    else if (count <= 2 * contextLines) group.push(change);
    else {
      groups.push([...group, head]);
      group = [tail];
    }
  }
  if (group.some(({ isEqual }) => !isEqual)) groups.push(group);
  return groups;
}

function changesOf(before: readonly string[], after: readonly string[]): Change[] {
  const changes: Change[] = [];
  let [from, to] = [0, 0];
  for (const block of [...blocksOf(before, after), { from: before.length, to: after.length, size: 0 }]) {
    if (from < block.from || to < block.to)
      changes.push({ isEqual: false, from, fromEnd: block.from, to, toEnd: block.to });
    [from, to] = [block.from + block.size, block.to + block.size];
    if (block.size > 0) changes.push({ isEqual: true, from: block.from, fromEnd: from, to: block.to, toEnd: to });
  }
  return changes;
}

/** Equal blocks in order: finds the longest run, then searches on both sides of it. Beyond `diffStepsMax` returns only the common start and end. */
function blocksOf(before: readonly string[], after: readonly string[]): Block[] {
  const found: Block[] = [];
  const search = new LongestRuns(before, after);
  const waiting: [number, number, number, number][] = [[0, before.length, 0, after.length]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [from, fromEnd, to, toEnd] = next;
    const run = search.longest(from, fromEnd, to, toEnd);
    if (search.stepsLeft < 0) return commonEnds(before, after);
    if (run.size === 0) continue;
    found.push(run);
    if (from < run.from && to < run.to) waiting.push([from, run.from, to, run.to]);
    const [afterRun, afterRunTo] = [run.from + run.size, run.to + run.size];
    if (afterRun < fromEnd && afterRunTo < toEnd) waiting.push([afterRun, fromEnd, afterRunTo, toEnd]);
  }
  return joined(found.sort((a, b) => a.from - b.from || a.to - b.to));
}

/** Joins adjacent runs. */
function joined(blocks: readonly Block[]): Block[] {
  const all: Block[] = [];
  for (const block of blocks) {
    const last = all.at(-1);
    if (last !== undefined && last.from + last.size === block.from && last.to + last.size === block.to)
      all.splice(-1, 1, { ...last, size: last.size + block.size });
    else all.push(block);
  }
  return all;
}

function commonEnds(before: readonly string[], after: readonly string[]): Block[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const ends = [
    { from: 0, to: 0, size: head },
    { from: before.length - tail, to: after.length - tail, size: tail },
  ];
  return ends.filter(({ size }) => size > 0);
}

/** From this many lines on, a line that makes up more than 1 % of all lines (a popular line) does not begin a run. */
const popularLinesMin = 200;

class LongestRuns {
  /** Remaining steps; below zero `diffStepsMax` is exceeded. */
  stepsLeft = diffStepsMax;
  readonly #before: readonly string[];
  readonly #after: readonly string[];
  readonly #places = new Map<string, number[]>();

  constructor(before: readonly string[], after: readonly string[]) {
    this.#before = before;
    this.#after = after;
    for (const [place, line] of after.entries()) {
      const places = this.#places.get(line);
      if (places === undefined) this.#places.set(line, [place]);
      else places.push(place);
    }
    if (after.length < popularLinesMin) return;
    const most = Math.floor(after.length / 100) + 1;
    for (const [line, places] of this.#places) if (places.length > most) this.#places.delete(line);
  }

  /** Returns the longest run between these bounds, the first of equal ones. Its size is 0 if there is none. */
  longest(from: number, fromEnd: number, to: number, toEnd: number): Block {
    let best: Block = { from, to, size: 0 };
    /** Length of the run that ends at a place of `after`. */
    let lengths = new Map<number, number>();
    for (let at = from; at < fromEnd; at += 1) {
      const next = new Map<number, number>();
      for (const place of this.#places.get(this.#before[at] ?? "") ?? []) {
        if (place < to) continue;
        if (place >= toEnd) break;
        this.stepsLeft -= 1;
        const size = (lengths.get(place - 1) ?? 0) + 1;
        next.set(place, size);
        if (size > best.size) best = { from: at - size + 1, to: place - size + 1, size };
      }
      if (this.stepsLeft < 0) return best;
      lengths = next;
    }
    return this.#extended(best, from, fromEnd, to, toEnd);
  }

  /** Extends a run by popular lines on both sides. */
  #extended(run: Block, from: number, fromEnd: number, to: number, toEnd: number): Block {
    let { from: start, to: place, size } = run;
    while (start > from && place > to && this.#before[start - 1] === this.#after[place - 1]) {
      start -= 1;
      place -= 1;
      size += 1;
    }
    while (start + size < fromEnd && place + size < toEnd && this.#before[start + size] === this.#after[place + size])
      size += 1;
    return { from: start, to: place, size };
  }
}

/** Differences of two texts without context, as `survey.diff` prints them. Each line ends with a line break. Empty for equal texts. */
export function unifiedDiff(a: string, b: string, names: { readonly from: string; readonly to: string }): string {
  const lines = unifiedLines(linesOf(a), linesOf(b), { ...names, contextLines: 0, lineEnd: "" });
  return lines.map((line) => `${line}\n`).join("");
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|[\n\r]/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
