/**
 * Names silent minions in few bytes. A publish goes to every minion of the fleet, so that a list of ids costs their length times the fleet. Minions
 * whose neighbours in the order of ids are silent, too, are named by the beginnings that their ids share.
 */

/** `pcre`: beginnings of ids, which may also match neighbours that are not silent. `ids`: all ids of the fleet that it names. */
export type PingTarget =
  | { readonly kind: "list"; readonly ids: readonly string[] }
  | { readonly kind: "pcre"; readonly ids: readonly string[]; readonly expression: string };

/** Neighbours that are looked at together. */
export const blockIds = 128;
/** With fewer silent ids than this in a block, naming them is cheaper than the answers of the others, in a fleet of any size. */
const blockSilentMax = 16;
/** Ids that can be named to the whole fleet for what the answers of a block cost, times minions: an id has some 20 bytes, an answer costs as much as 10 KB. */
const namedTimesMinions = 70_000;
const surrogate = /[\ud800-\udfff]/;

/** Silent ids in a block from which on the whole block is asked: the fewer, the more minions get each name. */
export function silentMinOf(minions: number): number {
  return Math.min(blockSilentMax, Math.max(1, Math.ceil(namedTimesMinions / Math.max(1, minions))));
}

/** `sorted`: the fleet's ids in the order of their UTF-16 units. Each target names at most `minionsMax` ids. */
export function pingTargets(
  silent: ReadonlySet<string>,
  sorted: readonly string[],
  minionsMax: number,
): readonly PingTarget[] {
  const listed: string[] = [];
  const silentMin = silentMinOf(sorted.length);
  const targets: PingTarget[] = [];
  let range: { from: number; to: number } | undefined;
  const endRange = (): void => {
    if (range === undefined) return;
    targets.push(...rangeTargets(sorted, range, minionsMax));
    range = undefined;
  };
  for (let from = 0; from < sorted.length; from += blockIds) {
    const block = sorted.slice(from, from + blockIds);
    const own = block.filter((id) => silent.has(id));
    if (own.length < silentMin) {
      endRange();
      listed.push(...own);
      continue;
    }
    const to = from + block.length;
    range = { from: range?.from ?? from, to };
  }
  endRange();
  return [...joined(targets, minionsMax), ...listTargets(listed, minionsMax)];
}

/** Small ranges share a publish, because each publish goes to the whole fleet. */
function joined(targets: readonly PingTarget[], minionsMax: number): PingTarget[] {
  const result: PingTarget[] = [];
  for (const target of targets) {
    const last = result.at(-1);
    const isSmall =
      last?.kind === "pcre" && target.kind === "pcre" && last.ids.length + target.ids.length <= minionsMax;
    if (!isSmall) {
      result.push(target);
      continue;
    }
    const expression = `${last.expression}|${target.expression}`;
    result[result.length - 1] = { kind: "pcre", ids: [...last.ids, ...target.ids], expression };
  }
  return result;
}

export function listTargets(ids: readonly string[], minionsMax: number): PingTarget[] {
  const targets: PingTarget[] = [];
  for (let from = 0; from < ids.length; from += minionsMax)
    targets.push({ kind: "list", ids: ids.slice(from, from + minionsMax) });
  return targets;
}

function rangeTargets(
  sorted: readonly string[],
  { from, to }: { readonly from: number; readonly to: number },
  minionsMax: number,
): PingTarget[] {
  const targets: PingTarget[] = [];
  for (let first = from; first < to; first += minionsMax) {
    const end = Math.min(to, first + minionsMax);
    const ids = sorted.slice(first, end);
    // A beginning could end within such a character.
    if (ids.some((id) => surrogate.test(id))) targets.push({ kind: "list", ids });
    else targets.push({ kind: "pcre", ids, expression: beginningsOf(sorted, first, end) });
  }
  return targets;
}

/** An expression for Python's `re.match` that matches the ids from `from` to before `to`, and no other id of `sorted`. */
function beginningsOf(sorted: readonly string[], from: number, to: number): string {
  const parts: string[] = [];
  cover(sorted, { from, to }, { first: 0, end: sorted.length, length: 0 }, parts);
  return parts.length === 1 ? (parts[0] ?? "") : `(?:${parts.join("|")})`;
}

/** `group`: ids that share their first `length` units. Adds the beginnings of the ones in the range. */
function cover(
  sorted: readonly string[],
  range: { readonly from: number; readonly to: number },
  { first, end, length }: { readonly first: number; readonly end: number; readonly length: number },
  parts: string[],
): void {
  if (first >= range.to || end <= range.from) return;
  const shared = sorted[first]?.slice(0, length) ?? "";
  if (first >= range.from && end <= range.to) {
    parts.push(length === 0 ? ".*" : escaped(shared));
    return;
  }
  let start = first;
  while (start < end) {
    const id = sorted[start] ?? "";
    if (id.length === length) {
      if (start >= range.from && start < range.to) parts.push(`${escaped(id)}$`);
      start += 1;
      continue;
    }
    const next = endOf(sorted, start, end, length);
    cover(sorted, range, { first: start, end: next, length: length + 1 }, parts);
    start = next;
  }
}

/** Where the ids from `start` end that have its unit at `length`. */
function endOf(sorted: readonly string[], start: number, end: number, length: number): number {
  const unit = sorted[start]?.[length];
  let [low, high] = [start + 1, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]?.[length] === unit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|#&~\s-]/g, "\\$&");
}
