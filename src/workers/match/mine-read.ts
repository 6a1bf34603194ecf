/**
 * Reads minions' mines in slices for a minion that asks. The main thread requests each slice, so that batches run in between. Entries whose
 * `allow_tgt` does not match the asking minion are left out. docs/protocol.md section 7.1.
 */
import { SaltworksError } from "../../errors.ts";
import { mineSliceBytes, mineSliceMs } from "../../limits.ts";
import { matchesKnown } from "../../target/expected.ts";
import { expandTarget } from "../../target/nodegroups.ts";
import { ParsedTargets } from "../../target/parsed.ts";
import { encode } from "../../wire/msgpack.ts";
import { pickEntries } from "../../wire/pick.ts";
import type { Value, ValueMap } from "../../wire/values.ts";
import { skipValue, textOf } from "../../wire/walk.ts";
import type { MatchAnswer, MineFindAnswer, MineFindTask, MineReadTask, MineSlice } from "../messages/worker.ts";
import type { WorkerState } from "../state/worker-state.ts";

const guardKey = "__saltmine_acl__";
const dataKey = "__data__";
const empty: ValueMap = new Map();
const targets = new ParsedTargets();

/** The part of a worker that this file uses. */
type MineSite = Pick<WorkerState, "facts" | "isAccepted" | "count" | "nodegroups"> & {
  readonly stores: Pick<WorkerState["stores"], "minions">;
};

/** Reads the first slice of the mines of a target's minions. */
export function findMines(worker: MineSite, matched: MatchAnswer, task: MineFindTask): MineFindAnswer {
  if (matched.state !== "ready") return matched;
  const { count, ids } = matched;
  const slice = readMines(worker, { ...task, ids });
  return { state: "ready", count, rest: slice.state === "read" ? ids.slice(slice.readBytes) : ids.slice(0, 0), slice };
}

/** Reads one slice from the first id on: at least one minion's mine. */
export function readMines(worker: MineSite, task: Omit<MineReadTask, "kind">): MineSlice {
  const untilMs = performance.now() + mineSliceMs;
  const wanted = new Set<Value>(task.functions);
  const access = new Access(worker, task.asker);
  const found = task.functions.map((): Buffer[] => []);
  const counts = task.functions.map(() => 0);
  let pairBytes = 0;
  let readBytes = 0;
  do {
    const end = readBytes < task.ids.length ? skipValue(task.ids, readBytes) : -1;
    if (end < 0) break;
    const id = textOf(task.ids, readBytes, end) ?? "";
    const mine = storedMine(worker, id, wanted);
    for (const [index, name] of task.functions.entries()) {
      const entry = mine.get(name);
      const value = entry === undefined ? undefined : access.open(entry);
      if (value === undefined) continue;
      const pair = [encode(id, "raw"), encode(value, "raw")];
      pairBytes += pair.reduce((bytes, part) => bytes + part.length, 0);
      found[index]?.push(...pair);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    readBytes = end;
    if (pairBytes > task.bytesMax) return { state: "tooLarge" };
  } while (pairBytes < mineSliceBytes && performance.now() < untilMs);
  let end = 0;
  const ends = found.map((pairs) => {
    end += pairs.reduce((bytes, part) => bytes + part.length, 0);
    return end;
  });
  return { state: "read", readBytes, counts, ends, pairs: joined(found.flat(), end) };
}

/** Copies the parts into one new buffer, which can be transferred. */
function joined(parts: readonly Buffer[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(new ArrayBuffer(length));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The wanted entries of a mine; none if the minion's key is no longer accepted. */
function storedMine(worker: MineSite, id: string, wanted: ReadonlySet<Value>): ValueMap {
  const stored = worker.isAccepted(id) ? worker.stores.minions.getMine(id) : undefined;
  if (stored === undefined) return empty;
  try {
    return pickEntries(stored, wanted);
  } catch (error) {
    if (!(error instanceof SaltworksError)) throw error;
    worker.count("mines.unreadable");
    return empty;
  }
}

/** Decides which entries the asking minion may see. Remembers the result of each `allow_tgt` for the slice. */
class Access {
  readonly #worker: MineSite;
  readonly #asker: string;
  readonly #known = new Map<string, boolean>();
  #facts: { readonly value: ReturnType<MineSite["facts"]["of"]> } | undefined;

  constructor(worker: MineSite, asker: string) {
    this.#worker = worker;
    this.#asker = asker;
  }

  /** The entry's value; undefined if the asking minion may not see it. */
  open(entry: Value): Value | undefined {
    if (!(entry instanceof Map) || !entry.has(guardKey)) return entry;
    const isAllowed = !entry.has("allow_tgt") || this.#isAmong(entry.get("allow_tgt"), entry.get("allow_tgt_type"));
    return isAllowed ? entry.get(dataKey) : undefined;
  }

  #isAmong(target: Value | undefined, kind: Value | undefined): boolean {
    const name = encode([target, kind], "bin").toString("latin1");
    let isAmong = this.#known.get(name);
    if (isAmong === undefined) {
      isAmong = this.#matches(target, kind);
      this.#known.set(name, isAmong);
    }
    return isAmong;
  }

  /** Whether the target matches the asking minion. An invalid target matches no minion. */
  #matches(target: Value | undefined, kind: Value | undefined): boolean {
    const expression = Array.isArray(target) ? target.filter((part) => typeof part === "string") : target;
    if (typeof expression !== "string" && !Array.isArray(expression)) return false;
    if (kind !== undefined && typeof kind !== "string") return false;
    try {
      this.#facts ??= { value: this.#worker.facts.of(this.#asker) };
      const written = expandTarget(kind ?? "glob", expression, this.#worker.nodegroups);
      return matchesKnown(targets.parse(written.kind, written.expression, ":"), this.#asker, this.#facts.value);
    } catch (error) {
      if (!(error instanceof SaltworksError) || error.code !== "TARGET_INVALID") throw error;
      return false;
    }
  }
}
