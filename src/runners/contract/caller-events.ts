/** Events that a function sends to its caller while it runs: lines for the caller's terminal, and progress. */
import { encode } from "../../wire/msgpack.ts";
import type { Encodable } from "../../wire/values.ts";
import type { RunnerContext } from "./contract.ts";

/** Lines that Salt's functions print. The tag is ours, so that only our command line shows them. */
export async function print(context: RunnerContext, text: string): Promise<void> {
  await tell(context, `saltworks/run/${context.caller?.jid ?? ""}/print`, { text: `${text}\n` });
}

/** How far a long function has come. Our command line shows it as a bar on a terminal. `total`: 0 if it is not known. */
export async function meter(
  context: RunnerContext,
  data: { readonly done: number; readonly total: number; readonly unit: string },
): Promise<void> {
  await tell(context, `saltworks/run/${context.caller?.jid ?? ""}/meter`, data);
}

/** Salt's `progress` events, under the call's tag. Command lines show them as they come. */
export async function progress(context: RunnerContext, data: { readonly [name: string]: Encodable }): Promise<void> {
  await tell(context, `${context.caller?.tag ?? ""}/progress`, data);
}

/** A call without a job id has no listener. */
async function tell(context: RunnerContext, tag: string, data: { readonly [name: string]: Encodable }): Promise<void> {
  if (context.caller === undefined) return;
  await context.master?.fire({ tag, data: encode(data, "bin") });
  if (context.callerEvents !== undefined) context.callerEvents.count += 1;
}
