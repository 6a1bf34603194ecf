/** Stands for the process of an orchestration: the function's name says what it does. */
import type { OrchestrationAnswer, OrchestrationCall } from "../../../src/runners/contract/orchestration.ts";
import { encode } from "../../../src/wire/msgpack.ts";

const exitCode = 7;

process.once("message", ({ fun, jid }: OrchestrationCall) => {
  if (fun === "wait") return;
  if (fun === "die") process.exit(exitCode);
  const value = encode(jid, "bin");
  process.send?.({ value, reply: value, success: true, faults: [] } satisfies OrchestrationAnswer);
});
process.once("disconnect", () => process.exit(1));
