/** A thread that keeps Python for a program without lanes, such as one orchestration: the program can then wait for it while it renders. */
import { MessageChannel, parentPort, Worker, workerData } from "node:worker_threads";
import type { MasterConfig } from "../config/load.ts";
import { type BlockingLine, serveLine } from "./blocking.ts";
import { failureOf, outcomeOf } from "./outcome.ts";
import { Sidecar } from "./sidecar.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Start = { readonly config: MasterConfig; readonly environment: Environment; readonly line: BlockingLine };

/** A line to a new thread. `close` ends its Python. */
export function openPythonThread(
  config: MasterConfig,
  environment: Environment,
): { readonly line: BlockingLine; readonly close: () => void } {
  const { port1, port2 } = new MessageChannel();
  const signal = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const start: Start = { config, environment: { ...environment }, line: { port: port2, signal } };
  const worker = new Worker(new URL(import.meta.url), { workerData: start, transferList: [port2] });
  worker.unref();
  port1.unref();
  const close = () => {
    port1.close();
    void worker.terminate();
  };
  return { line: { port: port1, signal }, close };
}

function serve({ config, environment, line }: Start): void {
  const sidecar = new Sidecar(config, environment, (text) => process.stderr.write(`${text}\n`));
  serveLine(line, ({ request, timeoutMs }) =>
    sidecar.ask(request, timeoutMs).then(({ value }) => outcomeOf(value), failureOf),
  );
  line.port.on("close", () => sidecar.close());
}

if (parentPort !== null && isStart(workerData)) serve(workerData);

/** Only this file's own threads have a line to serve. */
function isStart(data: unknown): data is Start {
  return typeof data === "object" && data !== null && "line" in data && "config" in data;
}
