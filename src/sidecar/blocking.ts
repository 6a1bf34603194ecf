/**
 * Asks the sidecar from a thread that cannot await, because templates render synchronously: the thread sleeps until the answer is there. Such threads
 * serve only pillars and reactions that need Python.
 */
import { type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { SaltworksError } from "../errors.ts";
import type { Value } from "../wire/values.ts";
import type { SidecarRequest } from "./contract.ts";
import { type AskedTask, type AskOutcome, answerIn, type LineAnswer, type LineTask } from "./outcome.ts";

/** `signal`: the main thread counts each answer in it. */
export type BlockingLine = { readonly port: MessagePort; readonly signal: SharedArrayBuffer };

/** Beyond the deadline of the request, milliseconds: the main thread always answers, except when it is ending. */
const graceMs = 5_000;

let lastSerial = 0;

/** @throws SaltworksError as the sidecar, and CHANNEL_CLOSED if the main thread is ending */
export function askBlocking({ port, signal }: BlockingLine, request: SidecarRequest, timeoutMs: number): Value {
  const answered = new Int32Array(signal);
  lastSerial += 1;
  const serial = lastSerial;
  port.postMessage({ kind: "ask", request, timeoutMs, serial } satisfies LineTask);
  const endMs = performance.now() + timeoutMs + graceMs;
  for (;;) {
    const before = Atomics.load(answered, 0);
    const outcome = outcomeOn(port, serial);
    if (outcome !== undefined) return answerIn(outcome);
    const leftMs = endMs - performance.now();
    if (leftMs <= 0) throw new SaltworksError("CHANNEL_CLOSED", "the master does not pass on questions to Python");
    Atomics.wait(answered, 0, before, leftMs);
  }
}

/** Answers each question on a line, and wakes the thread that sleeps. */
export function serveLine({ port, signal }: BlockingLine, answer: (asked: AskedTask) => Promise<AskOutcome>): void {
  const answered = new Int32Array(signal);
  port.on("message", ({ serial, ...asked }: LineTask) => {
    void answer(asked).then((outcome) => {
      port.postMessage({ serial, outcome } satisfies LineAnswer);
      Atomics.add(answered, 0, 1);
      Atomics.notify(answered, 0);
    });
  });
}

/** Drops answers to earlier questions, which came too late. */
function outcomeOn(port: MessagePort, serial: number): AskOutcome | undefined {
  for (;;) {
    const received = receiveMessageOnPort(port) as { readonly message: LineAnswer } | undefined;
    if (received === undefined) return undefined;
    if (received.message.serial === serial) return received.message.outcome;
  }
}
