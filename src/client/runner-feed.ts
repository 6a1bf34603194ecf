/**
 * The lines and progress events of a running runner function, read in order from the event bus. The reply gives their number, so that all of
 * them are shown before the result.
 */
import { setTimeout as delay } from "node:timers/promises";
import { runnerTellingWaitMs } from "../limits.ts";
import { splitEvent } from "../wire/event.ts";
import { textField } from "../wire/fields.ts";
import { jidAt } from "../wire/jid.ts";
import { decode } from "../wire/msgpack.ts";
import type { ValueMap } from "../wire/values.ts";

export type RunnerListener = {
  /** Text that is shown unchanged. */
  readonly onPrint: (text: string) => void;
  /** An event under the call's tag. `suffix`: the rest of its tag. */
  readonly onProgress: (suffix: string, event: ValueMap) => void;
  /** How far a long function has come. `total`: 0 if it is not known. */
  readonly onMeter: (meter: { readonly done: number; readonly total: number; readonly unit: string }) => void;
};

/** A job id by the client's clock; with `unique_jid` it ends with the process id. A client that chooses the id misses no event of the call. */
export function ownJid(isUnique: boolean): string {
  const micros = Math.floor((performance.timeOrigin + performance.now()) * 1_000);
  const jid = jidAt(Math.floor(micros / 1_000), micros % 1_000);
  return isUnique ? `${jid}_${process.pid}` : jid;
}

export class RunnerFeed {
  readonly #listener: RunnerListener;
  readonly #tag: string;
  readonly #printTag: string;
  readonly #start: Buffer;
  readonly #meterTag: string;
  readonly #ourStart: Buffer;
  #told = 0;
  #onTold: (() => void) | undefined;

  constructor(jid: string, listener: RunnerListener) {
    this.#listener = listener;
    this.#tag = `salt/run/${jid}/`;
    this.#printTag = `saltworks/run/${jid}/print`;
    this.#start = Buffer.from(this.#tag);
    this.#meterTag = `saltworks/run/${jid}/meter`;
    this.#ourStart = Buffer.from(`saltworks/run/${jid}/`);
  }

  /** Accepts any event of the bus, and ignores events of other calls. */
  take(body: Uint8Array): void {
    const isOurs = [this.#start, this.#ourStart].some((start) => start.equals(body.subarray(0, start.length)));
    if (!isOurs) return;
    const { tag, data } = splitEvent(body);
    const suffix = tag.slice(this.#tag.length);
    const isOwn = tag === this.#printTag || tag === this.#meterTag;
    if (!isOwn && (suffix === "new" || suffix === "ret")) return;
    const event = decode(data);
    if (!(event instanceof Map)) return;
    if (tag === this.#printTag) this.#listener.onPrint(textField(event, "text") ?? "");
    else if (tag === this.#meterTag) this.#listener.onMeter(meterIn(event));
    else this.#listener.onProgress(suffix, event);
    this.#told += 1;
    this.#onTold?.();
  }

  /** Waits until `count` events have been received, but at most `runnerTellingWaitMs`, because the bus may have lost some. */
  async heard(count: number): Promise<void> {
    const abort = new AbortController();
    const late = delay(runnerTellingWaitMs, undefined, { signal: abort.signal }).catch(() => undefined);
    const told = new Promise<void>((resolve) => {
      this.#onTold = () => {
        if (this.#told >= count) resolve();
      };
      this.#onTold();
    });
    await Promise.race([late, told]);
    abort.abort();
  }
}

function meterIn(event: ValueMap): Parameters<RunnerListener["onMeter"]>[0] {
  const [done, total] = ["done", "total"].map((name) => Number(event.get(name) ?? 0));
  return { done: done ?? 0, total: total ?? 0, unit: textField(event, "unit") ?? "" };
}
