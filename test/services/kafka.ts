/**
 * A broker that keeps produced messages. It answers ApiVersions 3, Metadata 9 and Produce 7 as Kafka's published protocol has them.
 * Source: "Kafka protocol guide" and "Message format" of Apache Kafka's documentation.
 */
import { type FramedServer, startFramedServer } from "./framed-server.ts";

export type KafkaMessage = {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | null;
  readonly value: string;
};
export type KafkaBroker = FramedServer & {
  readonly messages: KafkaMessage[];
  /** How often a client asked where the topics are. */
  readonly looks: () => number;
};

const keys = { produce: 0, fetch: 1, metadata: 3, apiVersions: 18 } as const;
/** Error codes of the protocol. */
const leaderNotAvailable = 5;
const messageTooLarge = 10;
const nodeId = 1;
const partitions = 3;

type BrokerOptions = {
  /** Answers before a topic that was just made has a leader. */
  readonly looksUntilLeader?: number;
  /** Bytes of a batch that the broker takes. */
  readonly batchBytesMax?: number;
};

export async function startKafkaFake({ looksUntilLeader = 0, batchBytesMax = 1_048_588 }: BrokerOptions = {}) {
  const messages: KafkaMessage[] = [];
  let looks = 0;
  const answers: { readonly [key: number]: (reader: Reader, port: number) => Buffer } = {
    [keys.apiVersions]: () => apiVersions(),
    [keys.metadata]: (reader, port) => {
      reader.skipTags();
      const topics = reader.compactArray(() => {
        const name = reader.compactText() ?? "";
        reader.skipTags();
        return name;
      });
      if (topics.length > 0) looks += 1;
      return metadata(port, topics, looks > looksUntilLeader);
    },
    [keys.produce]: (reader) => produced(reader, messages, batchBytesMax),
  };
  const answerTo = (request: Buffer, port: number): Buffer => {
    const reader = new Reader(request.subarray(4));
    const [key, version, correlation] = [reader.int16(), reader.int16(), reader.int32()];
    reader.text();
    const answer = answers[key];
    if (answer === undefined) throw new Error(`the fake broker has no answer to request ${key} version ${version}`);
    const body = Buffer.concat([int32(correlation), answer(reader, port)]);
    return Buffer.concat([int32(body.length), body]);
  };
  const server = await startFramedServer((unread) => 4 + unread.readInt32BE(0), answerTo);
  return { ...server, messages, looks: () => looks } satisfies KafkaBroker;
}

/** Fetch is never asked for, but clients write the present message format only if a broker has it. */
function apiVersions(): Buffer {
  const ranges = [
    [keys.produce, 7, 7],
    [keys.fetch, 4, 4],
    [keys.metadata, 9, 9],
    [keys.apiVersions, 3, 3],
  ].map((range) => Buffer.concat([...range.map(int16), noTags]));
  return Buffer.concat([int16(0), varint(ranges.length + 1), ...ranges, int32(0), noTags]);
}

function metadata(port: number, topics: readonly string[], hasLeader: boolean): Buffer {
  const broker = Buffer.concat([int32(nodeId), compactText("127.0.0.1"), int32(port), compactNull, noTags]);
  const nodes = Buffer.concat([varint(2), int32(nodeId)]);
  const listedPartitions = Array.from({ length: partitions }, (_, index) =>
    Buffer.concat([int16(0), int32(index), int32(nodeId), int32(0), nodes, nodes, varint(1), noTags]),
  );
  const listed = topics.map((name) => [
    ...[int16(hasLeader ? 0 : leaderNotAvailable), compactText(name), Buffer.from([0])],
    ...(hasLeader ? [varint(partitions + 1), ...listedPartitions] : [varint(1)]),
    ...[int32(-2_147_483_648), noTags],
  ]);
  return Buffer.concat([
    ...[noTags, int32(0), varint(2), broker, compactText("fake"), int32(nodeId)],
    ...[varint(topics.length + 1), ...listed.flat(), int32(-2_147_483_648), noTags],
  ]);
}

function produced(reader: Reader, messages: KafkaMessage[], batchBytesMax: number): Buffer {
  reader.text();
  reader.int16();
  reader.int32();
  const topics = reader.array(() => {
    const topic = reader.text() ?? "";
    const answers = reader.array(() => {
      const index = reader.int32();
      const batch = reader.bytes(reader.int32());
      const isGood = batch.length <= batchBytesMax;
      if (isGood) messages.push(...messagesIn(new Reader(batch), topic, index));
      const offset = isGood ? BigInt(messages.length) : -1n;
      return Buffer.concat([int32(index), int16(isGood ? 0 : messageTooLarge), int64(offset), int64(-1n), int64(0n)]);
    });
    return Buffer.concat([text(topic), int32(answers.length), ...answers]);
  });
  return Buffer.concat([int32(topics.length), ...topics, int32(0)]);
}

function messagesIn(reader: Reader, topic: string, partition: number): KafkaMessage[] {
  // Base offset, length, epoch of the leader.
  reader.bytes(16);
  const magic = reader.bytes(1)[0];
  if (magic !== 2) throw new Error(`the batch has the format ${magic}`);
  const checksum = reader.int32() >>> 0;
  if (checksum !== crc32c(reader.rest())) throw new Error("the checksum of the batch is wrong");
  if ((reader.int16() & 7) !== 0) throw new Error("the batch is compressed");
  // Last offset, two times, producer's id and epoch, sequence.
  reader.bytes(34);
  return reader.array(() => {
    reader.zigzag();
    reader.bytes(1);
    reader.zigzag();
    reader.zigzag();
    const key = reader.zigzagText();
    const value = reader.zigzagText() ?? "";
    if (reader.zigzag() !== 0) throw new Error("the message has headers");
    return { topic, partition, key, value };
  });
}

const noTags = Buffer.from([0]);
const compactNull = Buffer.from([0]);

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
}

function compactText(value: string): Buffer {
  return Buffer.concat([varint(Buffer.byteLength(value) + 1), Buffer.from(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>>= 7) {
    bytes.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) return Buffer.from(bytes);
  }
}

/** CRC-32C (Castagnoli), bit by bit. */
function crc32c(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  bytes(length: number): Buffer {
    this.#at += length;
    if (this.#at > this.#bytes.length) throw new Error("the request ends too early");
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }

  int16(): number {
    return this.bytes(2).readInt16BE();
  }

  int32(): number {
    return this.bytes(4).readInt32BE();
  }

  text(): string | null {
    const length = this.int16();
    return length < 0 ? null : this.bytes(length).toString();
  }

  array<Item>(read: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.int32()) }, read);
  }

  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.bytes(1)[0] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  zigzagText(): string | null {
    const length = this.zigzag();
    return length < 0 ? null : this.bytes(length).toString();
  }

  compactText(): string | null {
    const length = this.varint();
    return length === 0 ? null : this.bytes(length - 1).toString();
  }

  compactArray<Item>(read: () => Item): Item[] {
    return Array.from({ length: Math.max(0, this.varint() - 1) }, read);
  }

  skipTags(): void {
    for (let count = this.varint(); count > 0; count -= 1) {
      this.varint();
      this.bytes(this.varint());
    }
  }
}
