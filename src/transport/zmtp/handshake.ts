/**
 * The ZMTP greeting of a ROUTER, PUB or REQ with peers of 1.0, 2.0 and 3.x, NULL mechanism only.
 * Decides what to send next and how the peer frames its messages. Source: the specifications that frames.ts names. Pure: no I/O, no clock.
 */
import { commandFrame, type Framing, readCommand } from "./frames.ts";

/** The peer's first frame after the greeting: a READY command (3.x), or a message with its name (1.0 and 2.0). */
export type FirstFrame = "ready" | "name";

export type Handshake = {
  readonly framing: Framing;
  readonly firstFrame: FirstFrame;
  /** A peer of 1.0: its SUB sends no subscriptions and filters all messages itself. */
  readonly isUnversioned: boolean;
};

/** Type of our socket: its number in 2.0, and the types that may connect to it, by name and by number. */
export type SocketRole = {
  readonly name: string;
  readonly type: number;
  readonly partners: ReadonlySet<string>;
  readonly partnerTypes: ReadonlySet<number>;
};
export const routerRole: SocketRole = {
  name: "ROUTER",
  type: 6,
  partners: new Set(["REQ", "DEALER", "ROUTER"]),
  partnerTypes: new Set([3, 5, 6]),
};
export const publisherRole: SocketRole = {
  name: "PUB",
  type: 1,
  partners: new Set(["SUB", "XSUB"]),
  partnerTypes: new Set([2, 10]),
};

export const requesterRole: SocketRole = {
  name: "REQ",
  type: 3,
  partners: new Set(["ROUTER", "REP"]),
  partnerTypes: new Set([4, 6]),
};

/** `send`: bytes for the peer, possibly none. `done`: the greeting is complete and took `used` bytes. */
export type GreetingStep =
  | { readonly kind: "wait"; readonly send: Buffer }
  | { readonly kind: "done"; readonly send: Buffer; readonly used: number; readonly handshake: Handshake }
  | { readonly kind: "malformed" };

const signatureBytes = 10;
const versionAt = 10;
const greetingBytes = 64;
const mechanismAt = 12;
const mechanismEnd = 32;
/** Version in byte 10, after a signature: 0 and 1 are 1.0 and 2.0, 3 and above are 3.x. */
const versionOf20 = 1;
const versionOf30 = 3;
const nothing = Buffer.alloc(0);

/** The server's first bytes. A peer of 1.0 reads it as the long form of an empty name. */
export const signature: Buffer = Buffer.of(0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f);
/** Sent once the peer has shown a signature. */
const version30 = Buffer.of(versionOf30);

/** The greeting of 3.x after the version: minor version 1, the mechanism, the client's role, filler. */
const restOf30: Buffer = (() => {
  const rest = Buffer.alloc(greetingBytes - versionAt - 1);
  rest[0] = 1;
  rest.write("NULL", 1, "latin1");
  return rest;
})();

function property(name: string, value: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(value.length);
  return Buffer.concat([Buffer.of(name.length), Buffer.from(name), length, Buffer.from(value)]);
}

const ready = ({ name }: SocketRole): Buffer =>
  commandFrame("READY", Buffer.concat([property("Socket-Type", name), property("Identity", "")]));

/** One connection's greeting. `received`: all bytes so far; longer than `greetingBytes` in the last call at most. */
export class Greeting {
  readonly #role: SocketRole;
  #hasSentVersion = false;
  #hasSentRest = false;

  constructor(role: SocketRole) {
    this.#role = role;
  }

  /** Call it with all bytes so far whenever there are more, until it returns another step than `wait`. */
  read(received: Buffer): GreetingStep {
    if (received.length === 0) return { kind: "wait", send: nothing };
    if (received[0] !== 0xff) return this.#doneOf10();
    if (received.length < signatureBytes) return { kind: "wait", send: nothing };
    // Of 1.0: a long length, then flags whose lowest bit is clear because a name has one part.
    if (((received[signatureBytes - 1] ?? 0) & 1) === 0) return this.#doneOf10();
    const version = received[versionAt];
    if (version === undefined) return { kind: "wait", send: this.#version() };
    return version <= versionOf20 ? this.#readOld(received, version) : this.#readNew(received);
  }

  #version(): Buffer {
    if (this.#hasSentVersion) return nothing;
    this.#hasSentVersion = true;
    return version30;
  }

  #doneOf10(): GreetingStep {
    const handshake: Handshake = { framing: "old", firstFrame: "name", isUnversioned: true };
    return { kind: "done", send: nothing, used: 0, handshake };
  }

  /** 2.0: version and type of socket, then names. */
  #readOld(received: Buffer, version: number): GreetingStep {
    const type = received[versionAt + 1];
    if (type === undefined) return { kind: "wait", send: nothing };
    if (!this.#role.partnerTypes.has(type)) return { kind: "malformed" };
    const framing: Framing = version === versionOf20 ? "new" : "old";
    // An empty name: no flags and no bytes, or in 1.0 a length of one byte of flags.
    const name = framing === "new" ? Buffer.of(0, 0) : Buffer.of(1, 0);
    const send = Buffer.concat([this.#version(), Buffer.of(this.#role.type), name]);
    const handshake: Handshake = { framing, firstFrame: "name", isUnversioned: false };
    return { kind: "done", send, used: versionAt + 2, handshake };
  }

  #readNew(received: Buffer): GreetingStep {
    // The mechanism does not depend on the peer's, so the rest may follow as soon as the peer's version is known.
    const send = this.#hasSentRest ? nothing : Buffer.concat([this.#version(), restOf30, ready(this.#role)]);
    this.#hasSentRest = true;
    if (received.length < greetingBytes) return { kind: "wait", send };
    const mechanism = received.toString("latin1", mechanismAt, mechanismEnd).replace(/\0+$/, "");
    if (mechanism !== "NULL") return { kind: "malformed" };
    const handshake: Handshake = { framing: "new", firstFrame: "ready", isUnversioned: false };
    return { kind: "done", send, used: greetingBytes, handshake };
  }
}

/** Whether a peer's first command is READY with a socket type that may connect to ours. */
export function isReadyOfPartner(command: Buffer, { partners }: SocketRole): boolean {
  const read = readCommand(command);
  return read?.name === "READY" && partners.has(socketTypeIn(read.body) ?? "");
}

/** Property names are compared without case. @returns undefined if there is none, or if the properties are cut off */
function socketTypeIn(properties: Buffer): string | undefined {
  let at = 0;
  while (at < properties.length) {
    const nameEnd = at + 1 + (properties[at] ?? 0);
    if (nameEnd + 4 > properties.length) return undefined;
    const valueEnd = nameEnd + 4 + properties.readUInt32BE(nameEnd);
    if (valueEnd > properties.length) return undefined;
    const name = properties.toString("latin1", at + 1, nameEnd);
    if (name.toLowerCase() === "socket-type") return properties.toString("latin1", nameEnd + 4, valueEnd);
    at = valueEnd;
  }
  return undefined;
}
