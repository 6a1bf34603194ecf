/** Our PUB for tests, and the bytes with which clients of each release of ZMTP subscribe. */
import { opening } from "../../../../bench/fleet/storm/zmtp.ts";
import { commandFrame, partFrame } from "../../../../src/transport/zmtp/frames.ts";
import { PubServer, type PubServerOptions } from "../../../../src/transport/zmtp/publish/pub-server.ts";
import type { SubscriberCloseReason } from "../../../../src/transport/zmtp/publish/subscriber.ts";
import { RawClient } from "../raw-client.ts";

const opened: { readonly servers: PubServer[]; readonly clients: RawClient[] } = { servers: [], clients: [] };

/** Closes all that a test left open, because otherwise the file would not end after a failed assertion. */
export async function closeOpened(): Promise<void> {
  for (const client of opened.clients.splice(0)) client.close();
  for (const server of opened.servers.splice(0)) await server.close(0);
}

export async function openPub(options: Partial<PubServerOptions> = {}): Promise<PubServer> {
  const server = await PubServer.listen({
    on: { host: "127.0.0.1", port: 0 },
    backlog: 1_000,
    keepalive: { isOn: false, idleSeconds: -1, count: -1, intervalSeconds: -1 },
    highWaterMark: 1_000,
    connectionsMax: 10_000,
    addressConnectionsMax: 0,
    isProxy: () => false,
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
  opened.servers.push(server);
  return server;
}

/** Greeting and READY of our PUB. */
export const pubHelloBytes = 64 + 2 + 38;

const signatureOf20 = Buffer.of(0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f);
const greeting31 = opening("SUB");
greeting31[11] = 1;

export type Client = {
  /** All bytes of the client until it has subscribed to `topic`. */
  readonly hello: (topic: string) => Buffer;
  readonly cancel: (topic: string) => Buffer;
  /** All bytes of our PUB to this client before the first message. */
  readonly answerBytes: number;
  readonly framing: "old" | "new";
};

const asMessage = (mark: number, topic: string) =>
  Buffer.concat([Buffer.of(0, 1 + topic.length, mark), Buffer.from(topic)]);

export const clients: Readonly<Record<string, Client>> = {
  "3.1, by commands": {
    hello: (topic) => Buffer.concat([greeting31, commandFrame("SUBSCRIBE", Buffer.from(topic))]),
    cancel: (topic) => commandFrame("CANCEL", Buffer.from(topic)),
    answerBytes: pubHelloBytes,
    framing: "new",
  },
  "3.0, by messages": {
    hello: (topic) => Buffer.concat([opening("SUB"), asMessage(1, topic)]),
    cancel: (topic) => asMessage(0, topic),
    answerBytes: pubHelloBytes,
    framing: "new",
  },
  "2.0, as libzmq 3.2 does": {
    hello: (topic) => Buffer.concat([signatureOf20, Buffer.of(1, 2, 0, 0), asMessage(1, topic)]),
    cancel: (topic) => asMessage(0, topic),
    answerBytes: 14,
    framing: "new",
  },
  "1.0, as libzmq 2.x does, without a word of topics": {
    hello: () => Buffer.of(1, 0),
    cancel: () => Buffer.alloc(0),
    answerBytes: 10,
    framing: "old",
  },
};

/** Waits for a state that has no event of its own. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** The frame of a subscription, as clients of newer releases send it. */
export const subscription = (text: string) => partFrame(Buffer.concat([Buffer.of(1), Buffer.from(text)]), false, "new");

export const reached = (server: PubServer) =>
  Object.fromEntries(Object.entries(server.closed).filter(([, count]) => count > 0)) as Partial<
    Record<SubscriberCloseReason, number>
  >;

/** A client of 3.0 that has subscribed, and has read our PUB's first bytes. */
export async function subscribed(server: PubServer, topic = "", from?: string): Promise<RawClient> {
  const before = server.subscriberCount;
  const client = await RawClient.open(server.port, from);
  opened.clients.push(client);
  client.send((clients["3.0, by messages"] as Client).hello(topic));
  await client.take(pubHelloBytes);
  await until(() => server.subscriberCount > before, "a subscription");
  return client;
}

/** The next message of one or more parts, in the framing of 2.0 and later. */
export async function nextMessage(client: RawClient): Promise<string[]> {
  const parts: string[] = [];
  for (;;) {
    const [flags = 0, short = 0] = await client.take(2);
    const isLong = (flags & 2) !== 0;
    const length = isLong ? Number(Buffer.concat([Buffer.of(short), await client.take(7)]).readBigUInt64BE()) : short;
    parts.push((await client.take(length)).toString("latin1"));
    if ((flags & 1) === 0) return parts;
  }
}
