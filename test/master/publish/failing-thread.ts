/** The publish thread with a fault: it ends with an error at a publish that says so. */
import { parentPort } from "node:worker_threads";
import type { PublishTask } from "../../../src/master/publish/messages.ts";

/** Before the thread's own listener, which then sees nothing of it. */
parentPort?.addEventListener("message", (event) => {
  const { data: task } = event as unknown as { readonly data: PublishTask };
  if (task.kind !== "publish" || !Buffer.from(task.payload).equals(Buffer.from("fail"))) return;
  event.stopImmediatePropagation();
  throw new Error("a fault");
});
await import("../../../src/master/publish/publish-thread.ts");
