/** Floods by name from addresses without minions. */
import { opening, requestBytes } from "../../bench/fleet/storm/zmtp.ts";
import { encodeSealedRequest } from "../../src/wire/request.ts";
import { announced, constant, type Flood } from "./floods.ts";

const mebibyte = 1024 * 1024;
const greeting = opening("REQ");
const forged = (bytes: number, id: string) => encodeSealedRequest(Buffer.alloc(bytes), { version: 3, id });

/** Bounds of the master. One worker with one batch under way: two requests that are read in one turn fill its queue, however fast the machine. */
export const smallBounds = {
  request_max_bytes: 2 * mebibyte,
  queue_max_bytes: 65_536,
  worker_threads: 1,
  batches_in_flight: 1,
};

export const strangerFloods: Readonly<Record<string, Flood>> = {
  "requests that are begun, left and begun again": {
    connections: 8,
    greeting,
    from: "127.0.0.2",
    bytes: constant(() => announced(mebibyte, forged(900_000, "honest-0"))),
    bytesPerSecond: 32 * mebibyte,
    isLeft: true,
  },
  "requests that are begun over 200 connections": {
    connections: 200,
    greeting,
    from: "127.0.0.3",
    bytes: constant(() => announced(mebibyte, forged(900_000, "honest-0"))),
    bytesPerSecond: 64 * mebibyte,
    isOnce: true,
  },
  "whole requests in minions' names": {
    connections: 8,
    greeting,
    from: "127.0.0.4",
    // Several at once, so that requests arrive while others are with the workers.
    bytes: (round) =>
      Buffer.concat(
        Array.from({ length: 8 }, (_, at) => requestBytes(forged(70_000, `honest-${(8 * round + at) % 16}`))),
      ),
    bytesPerSecond: 16 * mebibyte,
  },
};

/** Against a master with default bounds. */
export const largeFloods: Readonly<Record<string, Flood>> = {
  "forged seals of 1 MiB in a minion's name": {
    connections: 8,
    greeting,
    from: "127.0.0.2",
    bytes: constant(() => requestBytes(forged(mebibyte - 1_024, "honest-0"))),
    bytesPerSecond: 64 * mebibyte,
  },
};
