/**
 * A server that keeps inserted documents and made indexes. It speaks MongoDB's published wire protocol: OP_MSG, and OP_QUERY with OP_REPLY for
 * the first greeting. Documents are read and written by the client library's own BSON.
 */
import { loadLibrary } from "../../src/minion/returners/contract/library.ts";
import { type FramedServer, startFramedServer } from "./framed-server.ts";

type Document = { readonly [field: string]: unknown };
type Bson = {
  serialize(document: object): Uint8Array;
  deserialize(bytes: Uint8Array, options: object): Document;
  readonly EJSON: { stringify(value: unknown, options: object): string };
};

export type MongoFake = FramedServer & {
  /** `DATABASE.COLLECTION` and the document as Extended JSON, which tells types of numbers. */
  readonly inserted: [collection: string, json: string][];
  /** `DATABASE.COLLECTION` and the index as Extended JSON. */
  readonly indexes: [collection: string, json: string][];
};

const codes = { reply: 1, query: 2004, message: 2013 } as const;
const headerBytes = 16;
/** Flags of OP_MSG: the bytes end with a checksum; the client awaits no answer. */
const flags = { hasChecksum: 1, isLast: 2 } as const;

export async function startMongoFake(): Promise<MongoFake> {
  const { BSON } = await loadLibrary<{ readonly BSON: Bson }>({ specifier: "mongodb", install: "" });
  const fake = { inserted: [] as MongoFake["inserted"], indexes: [] as MongoFake["indexes"] };
  const json = (value: unknown) => BSON.EJSON.stringify(value, { relaxed: false });
  const run = (command: Document): Document => {
    const [name = ""] = Object.keys(command);
    const place = `${command.$db}.${command[name]}`;
    if (/^(?:hello|ismaster)$/i.test(name)) return greeting();
    if (name === "insert") {
      const documents = command.documents as readonly Document[];
      for (const { _id, ...document } of documents) fake.inserted.push([place, json(document)]);
      return { n: documents.length, ok: 1 };
    }
    if (name === "createIndexes") {
      for (const index of command.indexes as readonly Document[]) fake.indexes.push([place, json(index)]);
      return { ok: 1 };
    }
    if (name === "endSessions" || name === "ping") return { ok: 1 };
    return { ok: 0, errmsg: `no such command: '${name}'`, code: 59, codeName: "CommandNotFound" };
  };
  const answer = (message: Buffer) => answerTo(message, BSON, run);
  return { ...fake, ...(await startFramedServer((unread) => unread.readInt32LE(0), answer)) };
}

function greeting(): Document {
  return {
    ...{ ismaster: true, isWritablePrimary: true, helloOk: true, readOnly: false, ok: 1 },
    ...{ maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000 },
    ...{ localTime: new Date(), logicalSessionTimeoutMinutes: 30, connectionId: 1 },
    ...{ minWireVersion: 0, maxWireVersion: 21 },
  };
}

function answerTo(message: Buffer, bson: Bson, run: (command: Document) => Document): Buffer | undefined {
  const [request, code] = [message.readInt32LE(4), message.readInt32LE(12)];
  if (code === codes.query) {
    const nameEnd = message.indexOf(0, headerBytes + 4);
    const [query = {}] = documentsIn(message.subarray(nameEnd + 9), bson);
    const head = Buffer.alloc(20);
    head.writeInt32LE(1, 16);
    return framed(codes.reply, request, Buffer.concat([head, bson.serialize(run(query))]));
  }
  if (code !== codes.message) throw new Error(`the message has the code ${code}`);
  const bits = message.readInt32LE(headerBytes);
  const end = message.length - (bits & flags.hasChecksum ? 4 : 0);
  const answer = run(commandOf(message.subarray(headerBytes + 4, end), bson));
  if (bits & flags.isLast) return undefined;
  return framed(codes.message, request, Buffer.concat([Buffer.alloc(5), bson.serialize(answer)]));
}

/** A section of kind 0 is the command, each of kind 1 a list of documents that is a field of it. */
function commandOf(sections: Buffer, bson: Bson): Document {
  const lists: { [field: string]: unknown } = {};
  let command: Document = {};
  for (let at = 0; at < sections.length; ) {
    const [kind, size] = [sections[at], sections.readInt32LE(at + 1)];
    const body = sections.subarray(at + 1, at + 1 + size);
    if (kind === 0) [command = {}] = documentsIn(body, bson);
    else {
      const nameEnd = body.indexOf(0, 4);
      lists[body.subarray(4, nameEnd).toString()] = documentsIn(body.subarray(nameEnd + 1), bson);
    }
    at += 1 + size;
  }
  return { ...command, ...lists };
}

function documentsIn(bytes: Buffer, bson: Bson): Document[] {
  const documents: Document[] = [];
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at)) {
    const document = bytes.subarray(at, at + bytes.readInt32LE(at));
    documents.push(bson.deserialize(document, { promoteValues: false, promoteLongs: false }));
  }
  return documents;
}

function framed(code: number, request: number, body: Buffer): Buffer {
  const head = Buffer.alloc(headerBytes);
  head.writeInt32LE(headerBytes + body.length, 0);
  head.writeInt32LE(1, 4);
  head.writeInt32LE(request, 8);
  head.writeInt32LE(code, 12);
  return Buffer.concat([head, body]);
}
