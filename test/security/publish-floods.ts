/** Strangers' floods on the publish port by name, as bytes on plain sockets. libzmq kept their bytes, and blocked the main thread. */
import { opening } from "../../bench/fleet/storm/zmtp.ts";
import { commandFrame } from "../../src/transport/zmtp/frames.ts";
import type { Flood } from "./floods.ts";

const mebibyte = 1024 * 1024;
const greeting = opening("SUB");

/** Subscriptions to different topics, 100,000 in a round. */
function subscriptions(round: number): Buffer {
  const bytes = Buffer.alloc(100_000 * 13);
  for (let at = 0, number = 0; at < bytes.length; at += 13, number += 1) {
    bytes[at + 1] = 11;
    bytes[at + 2] = 1;
    bytes.writeUInt32BE(round, at + 3);
    bytes.writeUInt32BE(number, at + 7);
  }
  return bytes;
}

const endless = (piece: Uint8Array, bytes: number): Flood["bytes"] => {
  const made = Buffer.alloc(Math.floor(bytes / piece.length) * piece.length, piece);
  return () => made;
};
const change = Buffer.concat([commandFrame("SUBSCRIBE", Buffer.from("x")), commandFrame("CANCEL", Buffer.from("x"))]);
/** The head of a frame of 2 GiB, and some of its bytes. */
const announced = Buffer.concat([Buffer.of(2, 0, 0, 0, 0, 0x80, 0, 0, 0, 1), Buffer.alloc(mebibyte)]);

export const publishFloods: Readonly<Record<string, Flood>> = {
  "subscriptions without end": {
    connections: 4,
    greeting,
    bytes: subscriptions,
    bytesPerSecond: 4 * mebibyte,
  },
  "subscribing and cancelling without end": {
    connections: 4,
    greeting,
    bytes: endless(change, mebibyte),
    bytesPerSecond: 4 * mebibyte,
  },
  "parts of a message that never ends": {
    connections: 1,
    greeting,
    bytes: endless(Buffer.of(1, 0), 2 * mebibyte),
    bytesPerSecond: 4 * mebibyte,
  },
  "frames that are announced and never finished": {
    connections: 4,
    greeting,
    bytes: () => announced,
    bytesPerSecond: 16 * mebibyte,
  },
  "greetings that are never finished": {
    connections: 400,
    greeting: greeting.subarray(0, 11),
    bytes: () => Buffer.alloc(0),
    bytesPerSecond: 0,
    isOnce: true,
  },
  "connections that read nothing": {
    connections: 16,
    greeting: Buffer.concat([greeting, Buffer.of(0, 1, 1)]),
    bytes: () => Buffer.alloc(0),
    bytesPerSecond: 0,
    isDeaf: true,
    isOnce: true,
  },
  "thousands of connections": {
    connections: 2_000,
    greeting,
    bytes: () => Buffer.alloc(0),
    bytesPerSecond: 0,
    isOnce: true,
  },
};
