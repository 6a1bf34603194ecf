/** The publish thread with faults: some publishes make it end with an error, wait for ever, or hang in a system call for a while. */
import { parentPort } from "node:worker_threads";
import koffi from "koffi";
import type { PublishTask } from "../../../../src/master/ports/publish/messages.ts";

/** Seconds of the system call: longer than a test waits for the thread to end. */
const stuckSeconds = 6;
/** Longer than any test lasts. */
const foreverSeconds = 3_600;

function stick(seconds: number): void {
  koffi.load(null).func("unsigned int sleep(unsigned int seconds)")(seconds);
}

const faults: Readonly<Record<string, () => void>> = {
  fail: () => {
    throw new Error("a fault");
  },
  hang: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  "hang soon": () => void setTimeout(() => faults.hang?.(), 100),
  stick: () => stick(stuckSeconds),
  "stick for ever": () => stick(foreverSeconds),
};

/** Registered before the thread's own listener, which then does not see these messages. */
parentPort?.addEventListener("message", (event) => {
  const { data: task } = event as unknown as { readonly data: PublishTask };
  const fault = task.kind === "publish" ? faults[Buffer.from(task.payload).toString()] : undefined;
  if (fault === undefined) return;
  // A later thread has taken its publish.
  if (fault !== faults["hang soon"]) event.stopImmediatePropagation();
  fault();
});
await import("../../../../src/master/ports/publish/publish-thread.ts");
