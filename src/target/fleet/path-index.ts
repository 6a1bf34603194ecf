/** The values of all minions at one path: texts, keys of maps, and which minions have maps. Pure. */

import { targetPathEntriesMax } from "../../limits.ts";
import { strOf } from "../../python/repr.ts";
import { type Datum, type DatumMap, isList, isMap } from "../facts.ts";
import { Bitmap } from "./bitmap.ts";
import { Inverted } from "./inverted.ts";
import { type Path, reach } from "./path.ts";

/** Prefixes of keys in the index: tell a text key from a numeric key with the same digits. */
const textKey = "t";
const otherKey = "o";

export class PathIndex {
  readonly path: Path;
  /** Lower-case texts of scalars and of members of lists. */
  texts = new Inverted();
  keys = new Inverted();
  /** Minions with a map at the path, empty or not. */
  readonly maps = new Bitmap();
  readonly filledMaps = new Bitmap();
  /** Minions with a list at the path that holds a map. */
  readonly listedMaps = new Bitmap();
  /** Over `targetPathEntriesMax`: each minion is then evaluated in turn. */
  isOverfull = false;

  constructor(path: Path) {
    this.path = path;
  }

  get bytes(): number {
    return this.texts.bytes + this.keys.bytes + this.maps.byteLength * 3;
  }

  /** Replaces the minion's values; `data` is undefined if it has no known facts. */
  set(minion: number, data: DatumMap | undefined): void {
    if (this.isOverfull) return;
    const found = new Found();
    if (data !== undefined) for (const value of reach(data, this.path.steps)) found.take(value);
    this.texts.set(minion, [...found.texts]);
    this.keys.set(minion, [...found.keys]);
    mark(this.maps, minion, found.hasMap);
    mark(this.filledMaps, minion, found.hasFilledMap);
    mark(this.listedMaps, minion, found.hasListedMap);
    if (this.texts.entries + this.keys.entries > targetPathEntriesMax) this.#giveUp();
  }

  #giveUp(): void {
    this.isOverfull = true;
    this.texts = new Inverted();
    this.keys = new Inverted();
  }

  /** Minions with a key that passes the test or equals the pattern. */
  *withKey(name: string, pattern: string, test: (lowerText: string) => boolean): Generator<void, Bitmap> {
    const exact = textKey + pattern;
    return yield* this.keys.passing(name, (key) => key === exact || test(key.slice(1).toLowerCase()));
  }
}

class Found {
  readonly texts = new Set<string>();
  readonly keys = new Set<string>();
  hasMap = false;
  hasFilledMap = false;
  hasListedMap = false;

  take(value: Datum): void {
    if (isMap(value)) {
      this.hasMap = true;
      if (value.size > 0) this.hasFilledMap = true;
      for (const key of value.keys()) {
        this.keys.add(typeof key === "string" ? textKey + key : otherKey + strOf(key));
      }
    } else if (isList(value)) {
      for (const member of value) {
        if (isMap(member)) this.hasListedMap = true;
        this.texts.add(strOf(member).toLowerCase());
      }
    } else {
      this.texts.add(strOf(value).toLowerCase());
    }
  }
}

function mark(bitmap: Bitmap, minion: number, isMember: boolean): void {
  if (isMember) bitmap.add(minion);
  else bitmap.delete(minion);
}
