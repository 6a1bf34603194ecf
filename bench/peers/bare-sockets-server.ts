/**
 * The bare sockets of a master in a separate process: a ROUTER that answers with a short frame, and a PUB.
 * Its memory for a fleet's connections is the least that a master in Node needs. Started by `bare-sockets.ts`.
 */
import { Context, Publisher, Router } from "zeromq";

export type FromBareSockets = { readonly requestPort: number; readonly publishPort: number };
/** Sends a frame of `publishBytes` to every subscriber. */
export type ToBareSockets = { readonly publishBytes: number };

/** ZMQ_IN_BATCH_SIZE and ZMQ_OUT_BATCH_SIZE: draft options of libzmq, without a name in its Node package. */
const batchOptions = [101, 102] as const;
/** The length of the sealed reply to a `_return`. */
const replyBytes = 99;
const backlog = 1_000;

/** Sets options that have no name in zeromq. Its method for them is protected in its types. */
function setBatchBytes(socket: Router | Publisher, bytes: number): void {
  const { setInt32Option } = socket as unknown as { setInt32Option(option: number, value: number): void };
  for (const option of batchOptions) setInt32Option.call(socket, option, bytes);
}

/** Undefined: libzmq's own value, 8,192. */
async function serve(batchBytes: number | undefined): Promise<void> {
  // A context for each socket, as in the master.
  const router = new Router({ context: new Context({ ioThreads: 1 }), backlog, sendTimeout: 0 });
  const publisher = new Publisher({ context: new Context({ ioThreads: 1 }), backlog, sendTimeout: 0 });
  if (batchBytes !== undefined) for (const socket of [router, publisher]) setBatchBytes(socket, batchBytes);
  await router.bind("tcp://127.0.0.1:*");
  await publisher.bind("tcp://127.0.0.1:*");
  const portOf = (endpoint: string | null): number => Number(endpoint?.split(":").at(-1));
  const ready: FromBareSockets = {
    requestPort: portOf(router.lastEndpoint),
    publishPort: portOf(publisher.lastEndpoint),
  };
  process.send?.(ready);
  process.on("message", ({ publishBytes }: ToBareSockets) => {
    void publisher.send(Buffer.alloc(publishBytes));
  });
  const reply = Buffer.alloc(replyBytes);
  for await (const [identity, empty] of router) {
    if (identity !== undefined && empty !== undefined) await router.send([identity, empty, reply]);
  }
}

process.on("disconnect", () => process.exit(0));
const [batchBytes] = process.argv.slice(2);
await serve(batchBytes === undefined ? undefined : Number(batchBytes));
