/**
 * Places a graph without circles in rows, importers above what they import, with few crossings. Source: Sugiyama, Tagawa and Toda (1981).
 * Pure: the same graph gives the same places.
 */
export type Edge = { readonly from: string; readonly to: string };
/** A box of the graph, or the place where an edge crosses a row (`name` is empty). */
export type Place = { readonly name: string; readonly row: number; readonly width: number; x: number };
/** An edge with its boxes and its places in the rows between them. */
export type Way = Edge & { readonly upper: Place; readonly passes: readonly Place[]; readonly lower: Place };
export type Layout = { readonly rows: readonly (readonly Place[])[]; readonly ways: readonly Way[] };

const passWidth = 10;
const gap = 26;
const sweeps = 24;
const straightenings = 60;

/** Leaves out each edge whose ends a longer path connects. */
export function withoutShortcuts(edges: readonly Edge[]): Edge[] {
  const next = (name: string) => edges.filter(({ from }) => from === name).map(({ to }) => to);
  const reaches = (from: string, to: string): boolean => next(from).some((each) => each === to || reaches(each, to));
  return edges.filter(({ from, to }) => !next(from).some((each) => each !== to && reaches(each, to)));
}

/** The row of a box: one below its lowest importer. */
function rowsOf(names: readonly string[], edges: readonly Edge[]): Map<string, number> {
  const rows = new Map<string, number>();
  const rowOf = (name: string): number => {
    const known = rows.get(name);
    if (known !== undefined) return known;
    const found = Math.max(-1, ...edges.filter(({ to }) => to === name).map(({ from }) => rowOf(from))) + 1;
    rows.set(name, found);
    return found;
  };
  for (const name of names) rowOf(name);
  return rows;
}

type Link = { readonly upper: Place; readonly lower: Place };

function linksOf(ways: readonly Way[]): Link[] {
  return ways.flatMap(({ upper, passes, lower }) =>
    [...passes, lower].map((place, index) => ({ upper: passes[index - 1] ?? upper, lower: place })),
  );
}

function crossingsOf(rows: readonly (readonly Place[])[], links: readonly Link[]): number {
  const at = new Map(rows.flatMap((row) => row.map((place, index) => [place, index] as const)));
  const ends = links.map(({ upper, lower }) => ({ row: upper.row, a: at.get(upper) ?? 0, b: at.get(lower) ?? 0 }));
  let count = 0;
  for (const one of ends) {
    for (const other of ends) if (one.row === other.row && one.a < other.a && one.b > other.b) count += 1;
  }
  return count;
}

const mean = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0) / numbers.length;

/** Sorts each row by the mean place of its neighbours above, then below, and keeps the order with the fewest crossings. */
function ordered(rows: Place[][], links: readonly Link[]): Place[][] {
  let best = rows;
  let current = rows;
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const isDown = sweep % 2 === 0;
    const at = new Map(current.flatMap((row) => row.map((place, index) => [place, index / row.length] as const)));
    const next = [...current];
    const order = isDown ? current.map((_, index) => index) : current.map((_, index) => current.length - 1 - index);
    for (const index of order) {
      const row = current[index] ?? [];
      const wanted = new Map(
        row.map((place) => {
          const near = links.flatMap(({ upper, lower }) =>
            isDown ? (lower === place ? [upper] : []) : upper === place ? [lower] : [],
          );
          return [place, near.length === 0 ? (at.get(place) ?? 0) : mean(near.map((each) => at.get(each) ?? 0))];
        }),
      );
      const sorted = [...row].sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
      for (const [position, place] of sorted.entries()) at.set(place, position / sorted.length);
      next[index] = sorted;
    }
    current = next;
    if (crossingsOf(current, links) < crossingsOf(best, links)) best = current;
  }
  return best;
}

/** Moves the row's places towards the positions they want, as far as their order and widths allow (pooled adjacent violators). */
function settle(row: readonly Place[], wanted: readonly number[]): void {
  let offset = 0;
  const offsets = row.map((place, index) => {
    if (index > 0) offset += ((row[index - 1]?.width ?? 0) + place.width) / 2 + gap;
    return offset;
  });
  const pools: { sum: number; count: number }[] = [];
  wanted.forEach((x, index) => {
    let pool = { sum: x - (offsets[index] ?? 0), count: 1 };
    for (
      let last = pools.at(-1);
      last !== undefined && last.sum / last.count > pool.sum / pool.count;
      last = pools.at(-1)
    ) {
      pools.pop();
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
    }
    pools.push(pool);
  });
  const bases = pools.flatMap(({ sum, count }) => new Array<number>(count).fill(sum / count));
  row.forEach((place, index) => {
    place.x = (bases[index] ?? 0) + (offsets[index] ?? 0);
  });
}

function straighten(rows: readonly (readonly Place[])[], links: readonly Link[]): void {
  const near = new Map<Place, Place[]>();
  for (const { upper, lower } of links) {
    near.set(upper, [...(near.get(upper) ?? []), lower]);
    near.set(lower, [...(near.get(lower) ?? []), upper]);
  }
  for (const row of rows)
    settle(
      row,
      row.map(() => 0),
    );
  for (let round = 0; round < straightenings; round += 1) {
    for (const row of round % 2 === 0 ? rows : [...rows].reverse()) {
      settle(
        row,
        row.map((place) => mean([place.x, ...(near.get(place) ?? []).map(({ x }) => x)])),
      );
    }
  }
}

/** @param widthOf pixels of the box with this name. `x` of a place is its middle; the leftmost box begins at 0. */
export function layLayers(names: readonly string[], edges: readonly Edge[], widthOf: (name: string) => number): Layout {
  const rowOf = rowsOf(names, edges);
  const places = names.map((name) => ({ name, row: rowOf.get(name) ?? 0, width: widthOf(name), x: 0 }));
  const placeOf = new Map<string, Place>(places.map((place) => [place.name, place]));
  const ways = edges.flatMap(({ from, to }): Way[] => {
    const [upper, lower] = [placeOf.get(from), placeOf.get(to)];
    if (upper === undefined || lower === undefined) return [];
    const passes = Array.from({ length: lower.row - upper.row - 1 }, (_, index) => {
      return { name: "", row: upper.row + 1 + index, width: passWidth, x: 0 };
    });
    return [{ from, to, upper, passes, lower }];
  });
  const all: Place[] = [...places, ...ways.flatMap(({ passes }) => passes)];
  const rows: Place[][] = [];
  for (const place of all) rows[place.row] = [...(rows[place.row] ?? []), place];
  const links = linksOf(ways);
  const best = ordered(rows, links);
  straighten(best, links);
  const left = Math.min(...all.map(({ x, width }) => x - width / 2));
  for (const place of all) place.x -= left;
  return { rows: best, ways };
}
