/** What a function says while it runs: lines for the terminal that waits for it, and progress for everybody on the event bus. */
import { encode } from "../../wire/msgpack.ts";
import type { Encodable } from "../../wire/values.ts";
import type { RunnerContext } from "./contract.ts";

/** Lines as Salt's functions print them. Only our own command line shows them; the event is under a name of ours. */
export async function print(context: RunnerContext, text: string): Promise<void> {
  await tell(context, `saltworks/run/${context.caller?.jid ?? ""}/print`, { text: `${text}\n` });
}

/** Salt's `progress` events: under the call's tag, shown by command lines as they come. */
export async function progress(context: RunnerContext, data: { readonly [name: string]: Encodable }): Promise<void> {
  await tell(context, `${context.caller?.tag ?? ""}/progress`, data);
}

/** Nobody listens to a call that has no job id. */
async function tell(context: RunnerContext, tag: string, data: { readonly [name: string]: Encodable }): Promise<void> {
  if (context.caller === undefined) return;
  await context.master?.fire({ tag, data: encode(data, "bin") });
  if (context.told !== undefined) context.told.count += 1;
}
