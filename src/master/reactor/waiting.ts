/**
 * Events that wait for the reactor: round robin over the minions that they are about, so that a flood of one minion delays no other. Bounded in
 * number and bytes, altogether and for one minion. Pure.
 */
import {
  reactorBytesPerTask,
  reactorEventsPerTask,
  reactorShareOfMinion,
  reactorShareOfUnmarked,
  reactorWaitingBytesMax,
} from "../../limits.ts";
import type { ReactorEvent } from "../../workers/messages/reactor.ts";

/** `isMasters`: the master itself fired it. */
export type WaitingEvent = ReactorEvent & { readonly atMs: number; readonly isMasters: boolean };
type Used = { count: number; bytes: number };
type Line = { readonly events: WaitingEvent[]; readonly used: Used };

export class WaitingEvents {
  readonly #max: number;
  readonly #bytesMax: number;
  /** By minion, the next in turn first. The empty name stands for events that name no minion. */
  readonly #lines = new Map<string, Line>();
  readonly #all: Used = { count: 0, bytes: 0 };
  readonly #unmarked: Used = { count: 0, bytes: 0 };

  constructor(max: number, bytesMax = reactorWaitingBytesMax) {
    this.#max = max;
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#all.count;
  }

  get bytes(): number {
    return this.#all.bytes;
  }

  /** @returns false if there is no room */
  offer(minion: string, event: WaitingEvent): boolean {
    const line = this.#lines.get(minion) ?? { events: [], used: { count: 0, bytes: 0 } };
    const hasRoom =
      this.#fits(this.#all, event, 1) &&
      (event.isMasters || this.#fits(this.#unmarked, event, reactorShareOfUnmarked)) &&
      (minion === "" || this.#fits(line.used, event, reactorShareOfMinion));
    if (!hasRoom) return false;
    line.events.push(event);
    this.#resize(line, event, 1);
    this.#lines.set(minion, line);
    return true;
  }

  /** A share of nothing fits one event of any size, within the whole. */
  #fits(used: Used, { data }: WaitingEvent, share: number): boolean {
    const bytes = used.bytes + data.byteLength;
    if (used.count === 0) return bytes <= this.#bytesMax;
    return used.count < this.#max * share && bytes <= this.#bytesMax * share;
  }

  /** The next events: as many as one task takes. */
  take(): WaitingEvent[] {
    const taken: WaitingEvent[] = [];
    let bytes = 0;
    while (taken.length < reactorEventsPerTask && bytes < reactorBytesPerTask) {
      const event = this.#next();
      if (event === undefined) break;
      taken.push(event);
      bytes += event.data.byteLength;
    }
    return taken;
  }

  #next(): WaitingEvent | undefined {
    const [first] = this.#lines;
    if (first === undefined) return undefined;
    const [minion, line] = first;
    const event = line.events.shift();
    this.#lines.delete(minion);
    if (line.events.length > 0) this.#lines.set(minion, line);
    if (event !== undefined) this.#resize(line, event, -1);
    return event;
  }

  #resize(line: Line, { data, isMasters }: WaitingEvent, count: 1 | -1): void {
    for (const used of isMasters ? [line.used, this.#all] : [line.used, this.#all, this.#unmarked]) {
      used.count += count;
      used.bytes += count * data.byteLength;
    }
  }
}
