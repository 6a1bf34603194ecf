/**
 * The sockets of a master and nothing behind them, in a process of its own: a ROUTER that answers with a short frame and a PUB.
 * What this process holds for a fleet's connections no master in Node can do without. Started by `bare-sockets.ts`.
 */
import { Context, Publisher, Router } from "zeromq";

export type FromBareSockets = { readonly requestPort: number; readonly publishPort: number };
/** Sends a frame of `publishBytes` to every subscriber. */
export type ToBareSockets = { readonly publishBytes: number };

/** ZMQ_IN_BATCH_SIZE and ZMQ_OUT_BATCH_SIZE, draft options of libzmq, which its Node package has no names for. */
const batchOptions = [101, 102] as const;
/** As long as the sealed reply to a `_return`. */
const replyBytes = 99;
const backlog = 1_000;

class RouterWithBatches extends Router {
  setBatchBytes(bytes: number): void {
    forBatchOptions((option) => this.setInt32Option(option, bytes));
  }
}

class PublisherWithBatches extends Publisher {
  setBatchBytes(bytes: number): void {
    forBatchOptions((option) => this.setInt32Option(option, bytes));
  }
}

function forBatchOptions(set: (option: number) => void): void {
  for (const option of batchOptions) set(option);
}

/** Undefined leaves libzmq's own value, 8,192. */
async function serve(batchBytes: number | undefined): Promise<void> {
  // A context each, as the master has.
  const router = new RouterWithBatches({ context: new Context({ ioThreads: 1 }), backlog, sendTimeout: 0 });
  const publisher = new PublisherWithBatches({ context: new Context({ ioThreads: 1 }), backlog, sendTimeout: 0 });
  if (batchBytes !== undefined) for (const socket of [router, publisher]) socket.setBatchBytes(batchBytes);
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
