/** JetStream for the streams of returns without a server: the test sets the state, and no message comes. */
import { EventEmitter, on } from "node:events";
import type { FollowerOptions } from "../../../src/cluster/returns/follower.ts";

/** `starts`: from where it was read. `opened` emits `start` then. */
export function fakeStream() {
  const state = { first_seq: 1, last_seq: 0, last_ts: "2026-11-29T10:00:00.123456789Z" };
  const starts: number[] = [];
  const opened = new EventEmitter();
  const clients = {
    manager: {
      streams: {
        info: async () => ({ created: "once", config: {}, state: { ...state } }),
        update: () => Promise.resolve(),
      },
    },
    jetstream: {
      consumers: {
        get: async (_name: string, { opt_start_seq }: { readonly opt_start_seq: number }) => {
          starts.push(opt_start_seq);
          setImmediate(() => opened.emit("start"));
          return { consume: async () => fakeMessages() };
        },
      },
    },
  };
  return { state, starts, opened, clients: clients as unknown as FollowerOptions["clients"] };
}

/** None, until they are stopped. */
function fakeMessages() {
  const ending = new AbortController();
  const until = async function* () {
    try {
      yield* on(new EventEmitter(), "message", { signal: ending.signal });
    } catch (error) {
      if (!ending.signal.aborted) throw error;
    }
  };
  return { [Symbol.asyncIterator]: until, status: until, stop: () => ending.abort() };
}
