/** Strangers' floods by name, as bytes on plain sockets. Each of them once silenced a master, filled its memory or ended it. */
import { opening, requestBytes } from "../../bench/fleet/storm/zmtp.ts";
import { encodeClearRequest, encodeSealedRequest } from "../../src/wire/request.ts";

export type Flood = {
  readonly connections: number;
  /** Sent once after connecting. */
  readonly greeting: Buffer;
  /** Sent repeatedly, at most this many bytes a second over all connections. */
  readonly bytes: (round: number) => Buffer;
  readonly bytesPerSecond: number;
  /** Whether replies stay unread in the socket. */
  readonly isDeaf?: boolean;
  /** Sent at most once over each connection. */
  readonly isOnce?: boolean;
  /** Whether each connection is closed and opened again after its bytes are sent. */
  readonly isLeft?: boolean;
  /** The source address; default: that of honest minions. */
  readonly from?: string;
};

const mebibyte = 1024 * 1024;
const greeting = opening("REQ");
const request = (load: Parameters<typeof encodeClearRequest>[0]) => requestBytes(encodeClearRequest(load, 3));
const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, 0]));

/** The empty part, the head of a part of `bytes`, and the first of these bytes. */
export function announced(bytes: number, first: Uint8Array): Buffer {
  const head = Buffer.alloc(11);
  head[0] = 1;
  head[2] = 2;
  head.writeBigUInt64BE(BigInt(bytes), 3);
  return Buffer.concat([head, first]);
}

export function constant(make: () => Buffer): Flood["bytes"] {
  let made: Buffer | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Integers that a map of 10,500 entries keeps in one chain. V8 hashes them without a secret (ComputeUnseededHash). */
function collidingKeys(count: number): number[] {
  const keys: number[] = [];
  for (let key = 0x10000; keys.length < count; key += 1) if ((unseededHash(key) & 8_191) === 0) keys.push(key);
  return keys;
}

function unseededHash(key: number): number {
  let hash = (~key + (key << 15)) | 0;
  hash ^= hash >>> 12;
  hash = (hash + (hash << 2)) | 0;
  hash ^= hash >>> 4;
  hash = Math.imul(hash, 2_057);
  return (hash ^ (hash >>> 16)) & 0x3fff_ffff;
}

export const floods: Readonly<Record<string, Flood>> = {
  "60,000 members in a clear load": {
    connections: 8,
    greeting,
    bytes: constant(() => request({ cmd: "publish", ...members(60_000) })),
    bytesPerSecond: 32 * mebibyte,
  },
  "thousands of members within 64 KiB": {
    connections: 8,
    greeting,
    bytes: constant(() => request({ cmd: "ping", ...members(5_500) })),
    bytesPerSecond: 16 * mebibyte,
  },
  "requests for a token with colliding keys as its time": {
    connections: 8,
    greeting,
    bytes: constant(() => {
      const load = { cmd: "mk_token", eauth: "pam", username: "eve", password: "wrong" };
      return request({ ...load, token_expire: new Map(collidingKeys(10_500).map((key) => [key, 0])) });
    }),
    bytesPerSecond: 8 * mebibyte,
  },
  "pings of 60 MB": {
    connections: 3,
    greeting,
    bytes: constant(() => request({ cmd: "ping", large: "x".repeat(60_000_000) })),
    bytesPerSecond: 64 * mebibyte,
  },
  "publishes of 16 MB with a wrong key": {
    connections: 3,
    greeting,
    bytes: constant(() => request({ cmd: "publish", key: "wrong", arg: ["x".repeat(16_000_000)], kwargs: {} })),
    bytesPerSecond: 64 * mebibyte,
  },
  "forged seals of 8 MB in a minion's name": {
    connections: 3,
    greeting,
    bytes: constant(() =>
      requestBytes(encodeSealedRequest(Buffer.alloc(8 * mebibyte), { version: 3, id: "honest-0" })),
    ),
    bytesPerSecond: 64 * mebibyte,
  },
  "messages of millions of parts": {
    connections: 1,
    greeting,
    bytes: constant(() => Buffer.alloc(24_000_000, Buffer.of(1, 0))),
    bytesPerSecond: 24 * mebibyte,
  },
  "parts without end at half a megabyte a second": {
    connections: 1,
    greeting,
    bytes: constant(() => Buffer.alloc(25_000, Buffer.of(1, 0))),
    bytesPerSecond: mebibyte / 2,
  },
  "frames that are announced and never finished": {
    connections: 4,
    greeting,
    bytes: constant(() =>
      announced(95 * mebibyte, encodeSealedRequest(Buffer.alloc(90 * mebibyte), { version: 3, id: "honest-0" })),
    ),
    bytesPerSecond: 32 * mebibyte,
    isOnce: true,
  },
  "replies that are never read": {
    connections: 8,
    greeting,
    bytes: constant(() => request({ cmd: "ping", large: "x".repeat(60_000) })),
    bytesPerSecond: 8 * mebibyte,
    isDeaf: true,
  },
  "requests without end": {
    connections: 8,
    greeting,
    bytes: constant(() => Buffer.concat(new Array<Buffer>(100).fill(request({ cmd: "ping" })))),
    bytesPerSecond: mebibyte,
  },
  "commands without end": {
    connections: 8,
    greeting,
    bytes: constant(() => Buffer.alloc(3 * 87_000, Buffer.of(4, 1, 0))),
    bytesPerSecond: 16 * mebibyte,
  },
  "greetings that are never finished": {
    connections: 400,
    greeting: greeting.subarray(0, 11),
    bytes: () => Buffer.alloc(0),
    bytesPerSecond: 0,
    isOnce: true,
  },
  "thousands of connections": {
    connections: 2_000,
    greeting,
    bytes: constant(() => request({ cmd: "ping" })),
    bytesPerSecond: mebibyte / 8,
  },
  "lines for the log": {
    connections: 4,
    greeting,
    bytes: (round) => {
      const id = `../${"x".repeat(10_000)}${round}`;
      return round % 2 === 0
        ? request({ cmd: "_auth", id, pub: "no key", nonce: "n", enc_algo: "constructor" })
        : requestBytes(encodeSealedRequest(Buffer.alloc(64), { version: 3, id: `${id}\0` }));
    },
    bytesPerSecond: 8 * mebibyte,
  },
};
