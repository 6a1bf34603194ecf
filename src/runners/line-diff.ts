/**
 * Two texts' differences line by line, as Python's `difflib.unified_diff` prints them without context. Pure; bounded, since the time it takes
 * grows with the product of what differs.
 */
import { diffLinesMax } from "../limits.ts";

type Hunk = { readonly from: number; readonly fromEnd: number; readonly to: number; readonly toEnd: number };

/** Each line ends with a line break. Nothing for equal texts. */
export function unifiedDiff(a: string, b: string, names: { readonly from: string; readonly to: string }): string {
  const [before, after] = [linesOf(a), linesOf(b)];
  const hunks = changes(before, after);
  if (hunks.length === 0) return "";
  const lines = [`--- ${names.from}`, `+++ ${names.to}`];
  for (const { from, fromEnd, to, toEnd } of hunks) {
    lines.push(`@@ -${range(from, fromEnd)} +${range(to, toEnd)} @@`);
    lines.push(...before.slice(from, fromEnd).map((line) => `-${line}`));
    lines.push(...after.slice(to, toEnd).map((line) => `+${line}`));
  }
  return `${lines.join("\n")}\n`;
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r\n|[\n\r]/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** An empty range names the line before it. */
function range(start: number, end: number): string {
  const count = end - start;
  if (count === 1) return String(start + 1);
  return `${count === 0 ? start : start + 1},${count}`;
}

/** Where the texts differ, by the longest sequence of lines that both have; beyond the bound all between common ends differs. */
function changes(a: readonly string[], b: readonly string[]): Hunk[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail += 1;
  const [aEnd, bEnd] = [a.length - tail, b.length - tail];
  if (head === aEnd && head === bEnd) return [];
  if (Math.max(aEnd - head, bEnd - head) > diffLinesMax) return [{ from: head, fromEnd: aEnd, to: head, toEnd: bEnd }];
  return between(a.slice(head, aEnd), b.slice(head, bEnd)).map(({ from, fromEnd, to, toEnd }) => ({
    from: from + head,
    fromEnd: fromEnd + head,
    to: to + head,
    toEnd: toEnd + head,
  }));
}

function between(a: readonly string[], b: readonly string[]): Hunk[] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const hunks: Hunk[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [from, to] = [i, j];
    while ((i < a.length || j < b.length) && !(i < a.length && j < b.length && a[i] === b[j])) {
      if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) i += 1;
      else j += 1;
    }
    if (i > from || j > to) hunks.push({ from, fromEnd: i, to, toEnd: j });
    while (i < a.length && j < b.length && a[i] === b[j]) {
      i += 1;
      j += 1;
    }
  }
  return hunks;
}
