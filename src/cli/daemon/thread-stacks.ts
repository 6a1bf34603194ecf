/**
 * Reads the stacks of this process's worker threads through Node's inspector, inside the process and without a port. Pauses a busy thread
 * briefly. Sources: Chrome DevTools Protocol (Debugger, Runtime), Node's domain `NodeWorker`.
 */
import { Session } from "node:inspector";
import { debugPauseTimeoutMs } from "../../limits.ts";

type Frame = {
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number };
};
type Message = {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly callFrames?: readonly Frame[]; readonly scriptId?: string; readonly url?: string };
  readonly result?: { readonly result?: { readonly value?: unknown } };
};
type Attached = { readonly params: { readonly sessionId: string; readonly workerInfo: { readonly title: string } } };
type Received = { readonly params: { readonly sessionId: string; readonly message: string } };
type Thread = {
  readonly title: string;
  /** Files by script id, because frames hold only ids. */
  readonly files: Map<string, string>;
  name: string | undefined;
  frames: readonly string[] | undefined;
};

/** Ids of the requests to a thread. */
const ask = { enable: 1, name: 2, pause: 3, resume: 4, disable: 5 } as const;
const nameExpression = `process.getBuiltinModule("fs").readFileSync("/proc/thread-self/comm", "utf8").trim()`;

/** One text for each thread: its name, then its stack or a note that it is idle. */
export async function threadStacks(): Promise<string[]> {
  const session = new Session();
  session.connect();
  const threads = new Map<string, Thread>();
  const send = (sessionId: string, id: number, method: string, params: object = {}): void =>
    session.post(
      "NodeWorker.sendMessageToWorker",
      { sessionId, message: JSON.stringify({ id, method, params }) },
      () => undefined,
    );
  session.on("NodeWorker.attachedToWorker", ({ params }: Attached) => {
    threads.set(params.sessionId, {
      title: params.workerInfo.title,
      files: new Map(),
      name: undefined,
      frames: undefined,
    });
    send(params.sessionId, ask.name, "Runtime.evaluate", { expression: nameExpression });
    send(params.sessionId, ask.enable, "Debugger.enable");
    send(params.sessionId, ask.pause, "Debugger.pause");
  });
  session.on("NodeWorker.receivedMessageFromWorker", ({ params }: Received) => {
    const thread = threads.get(params.sessionId);
    const message = JSON.parse(params.message) as Message;
    if (thread === undefined) return;
    if (message.id === ask.name) thread.name = String(message.result?.result?.value ?? "");
    const { scriptId, url, callFrames = [] } = message.params ?? {};
    if (message.method === "Debugger.scriptParsed" && scriptId !== undefined) thread.files.set(scriptId, url ?? "");
    if (message.method !== "Debugger.paused") return;
    send(params.sessionId, ask.resume, "Debugger.resume");
    thread.frames ??= callFrames.map((frame) => frameText(frame, thread.files));
  });
  session.post("NodeWorker.enable", { waitForDebuggerOnStart: false }, () => undefined);
  await new Promise((resolve) => setTimeout(resolve, debugPauseTimeoutMs));
  // An idle thread has not paused yet. Without `Debugger.disable` it would pause at its next task.
  for (const sessionId of threads.keys()) send(sessionId, ask.disable, "Debugger.disable");
  session.disconnect();
  return [...threads.values()].map(({ title, name, frames }) =>
    `${name ?? ""} ${title}\n${frames?.join("\n") ?? "    at rest, or in native code"}`.trim(),
  );
}

function frameText({ functionName, location }: Frame, files: ReadonlyMap<string, string>): string {
  return `    at ${functionName || "<anonymous>"} (${files.get(location.scriptId) || "node"}:${location.lineNumber + 1})`;
}
