/** Returner `kafka`: one message of a topic for each return. Source: Salt 3007's `kafka`. */
import { setTimeout as delay } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { returnerConnectMs } from "../../../limits.ts";
import { strOf } from "../../../python/repr.ts";
import { describe } from "../../modules/declare/describe.ts";
import { returnerError } from "../contract/errors.ts";
import { jsonOf } from "../contract/json.ts";
import type { Returner } from "../contract/returner.ts";

type Message = {
  readonly topic: string;
  readonly key: string;
  readonly value: string;
  /** Any number: the library divides it by the count of partitions. */
  readonly partition: number;
};
type Producer = {
  send(options: { readonly messages: readonly Message[]; readonly acks: number }): Promise<unknown>;
  close(): Promise<void>;
};
/** What this returner uses of the library. */
type Kafka = {
  readonly Producer: new (options: { readonly [name: string]: unknown }) => Producer;
  readonly stringSerializers: object;
};

const library = { specifier: "@platformatic/kafka", install: "@platformatic/kafka@1.22" };
/** All replicas have the message. */
const acksOfAll = -1;
/** A broker that makes a topic names no leader of it at first. */
const newTopicWaitMs = 250;
const newTopicWaitsMax = 20;

export const kafkaReturner: Returner = {
  name: "kafka",
  doc: describe("Sends the return to a topic of Kafka, as JSON.", "test.ping --return kafka"),
  libraries: [library],
  returner: async ({ ret, settings, load, signal }) => {
    const options = settings.of("returner.kafka", { bootstrap: undefined, topic: undefined });
    const listed = options.value("bootstrap");
    const brokers = (Array.isArray(listed) ? listed.map(strOf) : (options.text("bootstrap") ?? "").split(","))
      .map((broker) => broker.trim())
      .filter((broker) => broker !== "");
    if (brokers.length === 0) throw returnerError("returner.kafka.bootstrap is not set");
    const topic = options.demand("topic");
    const key = strOf(ret);
    // As Python's client chooses it.
    const message = { topic, key, value: jsonOf(ret), partition: crc32(key) };
    const { Producer, stringSerializers } = await load<Kafka>(library);
    const producer = new Producer({
      ...{ clientId: "salt", bootstrapBrokers: brokers, serializers: stringSerializers, autocreateTopics: true },
      ...{ connectTimeout: returnerConnectMs, timeout: returnerConnectMs, retries: 0 },
    });
    const close = () => void producer.close().catch(() => undefined);
    signal.addEventListener("abort", close);
    try {
      await sendToTopic(producer, message, signal);
    } finally {
      signal.removeEventListener("abort", close);
      await producer.close();
    }
  },
};

async function sendToTopic(producer: Producer, message: Message, signal: AbortSignal): Promise<void> {
  for (let waits = 0; ; waits += 1) {
    try {
      await producer.send({ messages: [message], acks: acksOfAll });
      return;
    } catch (error) {
      if (!isOfNewTopic(error) || waits === newTopicWaitsMax) throw error;
      await delay(newTopicWaitMs, undefined, { signal });
    }
  }
}

/** The library's errors look among their causes. */
type Searchable = Error & { findBy?(name: string, value: unknown): unknown };

function isOfNewTopic(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.startsWith("Unknown topic") || Boolean((error as Searchable).findBy?.("hasStaleMetadata", true));
}
